"""A server of ours before a scripted one, for each way to ask a model, and how the asks are read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tests.support.block_scripts import as_blocks
from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.program import serving
from tests.wire.servers import KEY, AnthropicUpstream, Ask, ChatUpstream, Json, Script, ScriptedUpstream


class Lane(NamedTuple):
    """A scripted server, how it is configured, and how its asks are read."""

    server: type[ScriptedUpstream]
    upstream: dict[str, Any]
    model: str
    translated: Callable[[Script], Script]
    told: Callable[[Json], list[tuple[str, str]]]

    def texts(self, ask: Ask) -> list[tuple[str, str]]:
        """Role and text of each message, and of each output of a tool, whose role is `tool`."""
        return self.told(ask.body)


def _chat(body: Json) -> list[tuple[str, str]]:
    return [(message["role"], str(message.get("content") or "")) for message in body["messages"]]


def _messages(body: Json) -> list[tuple[str, str]]:
    found = [("system", part["text"]) for part in _parts(body.get("system") or [])]
    for message in body["messages"]:
        for block in _parts(message["content"]):
            if block["type"] == "text":
                found.append((message["role"], block["text"]))
            if block["type"] == "tool_result":
                found.append(("tool", "".join(part["text"] for part in _parts(block["content"]))))
    return found


def _parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


NATIVE: Final = "native"
CHAT: Final = Lane(ChatUpstream, {"via": "chat"}, "demo", lambda script: script, _chat)
LANES: Final[dict[str, Lane]] = {
    "chat": CHAT,
    "messages": Lane(
        AnthropicUpstream, {"via": "messages", "provider": "anthropic"}, "claude-sonnet-4-5", as_blocks, _messages
    ),
    "litellm": CHAT._replace(upstream={"via": "litellm", "provider": "openai"}),
    NATIVE: CHAT,
}
"""The native Responses server is another AM Proxy, which asks a chat server."""


@contextmanager
def served(name: str, upstream: ScriptedUpstream) -> Iterator[str]:
    """A server of ours before this one, whose model is `m`."""
    lane = LANES[name]
    there = Upstream(base_url=upstream.url, api_key=KEY, **lane.upstream)
    with serving(_settings(there, name=lane.model)) as url:
        if name != NATIVE:
            yield url
            return
        with serving(_settings(Upstream(via="responses", base_url=f"{url}/v1"))) as before:
            yield before


def _settings(upstream: Table, **model: str) -> str:
    return Settings(upstreams={"u": upstream}, models={"m": Model(upstream="u", context_window=64_000, **model)})
