"""Client, this server, one of its lanes, and a chat server that refuses what strict servers refuse."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import Program, own_program
from tests.wire.script import text_turn
from tests.wire.servers import Ask, ChatUpstream, Script, Step

SECRET: Final = "sk-upstreams-own-0123456789abcdef"
"""The key this server sends; no client may ever see it."""
LANES: Final = ("chat", "responses")
_ELSEWHERE: Final = ("OPENAI", "HOSTED_VLLM", "LITELLM", "LITELLM_PROXY")
"""Other servers whose keys lie in the environment."""


class ProxiedUpstream(NamedTuple):
    """A server, what is behind it, and what that says to each model's name."""

    program: Program
    upstream: ChatUpstream
    scripts: dict[str, Script]

    @property
    def url(self) -> str:
        """The server's address."""
        return self.program.url

    def set_scripts(self, model: str, *scripts: Script) -> None:
        """Script a model: one script per ask, the last one again and again."""
        asks = iter(scripts)
        last: list[Script] = []

        def next_steps(ask: Ask) -> list[Step]:
            last[:] = [next(asks, last[0] if last else [])]
            script = last[0]
            return list(script(ask) if callable(script) else script)

        self.scripts[model] = next_steps

    def asks(self, model: str) -> list[Ask]:
        """What this model was asked."""
        return [ask for ask in self.upstream.asks if ask.body["model"] == model]


@contextmanager
def proxied_upstream(via: str) -> Iterator[ProxiedUpstream]:
    """One server and one upstream, whose scripts are chosen by the model's name.

    `closed` goes to a port where nobody answers, `keyless` to the upstream without a key. The relay stands before a
    second server, which speaks to the upstream directly.
    """
    scripts: dict[str, Script] = {}

    def next_steps(ask: Ask) -> list[Step]:
        script = scripts[ask.body["model"]]
        return list(script(ask) if callable(script) else script)

    with ExitStack() as stack:
        unused = stack.enter_context(socket.socket())
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        upstream = stack.enter_context(ChatUpstream(next_steps))
        with pytest.MonkeyPatch.context() as environ:
            for name in _ELSEWHERE:
                environ.setenv(f"{name}_API_KEY", "sk-of-the-environment")
            text = _settings("chat" if via == "responses" else via, upstream.url, closed)
            program = stack.enter_context(own_program(text))
            if via == "responses":
                program = stack.enter_context(own_program(_settings(via, f"{program.url}/v1", closed)))
        proxied = ProxiedUpstream(program, upstream, scripts)
        proxied.set_scripts("first", text_turn("Hi"))  # litellm takes seconds to load
        httpx.post(f"{program.url}/v1/responses", json={"model": "first", "input": "hi"}, timeout=50).raise_for_status()
        yield proxied


def _settings(via: str, local: str, closed: str) -> str:
    upstreams = {
        "local": Upstream(via=via, base_url=local, api_key=SECRET, retries=0, breaker_failures=0),
        "keyless": Upstream(via=via, base_url=local, retries=0, breaker_failures=0),
        "closed": Upstream(via=via, base_url=closed, api_key=SECRET, retries=0, breaker_failures=0),
    }
    models = {
        "closed": Model(upstream="closed"),
        "keyless": Model(upstream="keyless"),
        "*": Model(upstream="local"),
    }
    return Settings(server=Server(log_level="debug"), upstreams=upstreams, models=models)
