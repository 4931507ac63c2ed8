"""Counting the tokens of a request, and what the answer says of the count."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import httpx

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, ChatUpstream, ResponsesUpstream, Script, ScriptedUpstream, Status, Step

Json = dict[str, Any]

LLAMA, VLLM = "/v1/chat/completions/input_tokens", "/tokenize"
NO_PATH = Status(404, {"detail": "Not Found"})


def count(url: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "Hello, what is this?", **fields}
    return httpx.post(f"{url}/v1/responses/input_tokens", json=body, headers=headers, timeout=30)


def counted(answer: httpx.Response) -> tuple[int, int | None, str | None]:
    return answer.status_code, answer.json().get("input_tokens"), answer.headers.get("x-am-token-count")


def many_models(servers: Mapping[str, ScriptedUpstream]) -> AbstractContextManager[str]:
    """One server, with a model before each of these. It is fresh, because it remembers who counts."""
    via = {name: "responses" if isinstance(each, ResponsesUpstream) else "chat" for name, each in servers.items()}
    upstreams = {name: Upstream(via=via[name], base_url=each.url) for name, each in servers.items()}
    return serving(Settings(upstreams=upstreams, models={name: Model(upstream=name) for name in servers}), fresh=True)


class CountingChat(ChatUpstream):
    """A chat server that counts at one of two addresses, or at none; what it is not sent it does not count."""

    def __init__(self, *, llama: Script = (NO_PATH,), vllm: Script = (NO_PATH,)) -> None:
        self._paths = {LLAMA: llama, VLLM: vllm}
        super().__init__(self._steps)

    def _steps(self, ask: Ask) -> list[Step]:
        script = self._paths[ask.path]
        return list(script(ask) if callable(script) else script)

    def faults(self, ask: Ask) -> list[str]:
        """VLLM's address takes messages and tools; llama.cpp's takes what its chat completions take."""
        if ask.path == VLLM:
            return [f"unknown {key}" for key in ask.body.keys() - {"model", "messages", "tools"}]
        if self._paths[LLAMA] == (NO_PATH,):
            return []
        streams = {"stream": True, "stream_options": {"include_usage": True}}
        unstreamed = [f"{key} where nothing is answered" for key in streams if key in ask.body]
        return unstreamed + super().faults(Ask("/v1/chat/completions", ask.headers, ask.body | streams, ask.raw))

    @property
    def paths(self) -> list[str]:
        """Where it was asked."""
        return [ask.path for ask in self.asks]
