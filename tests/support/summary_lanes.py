"""The lanes over which conversations are summed up: servers with a small context, and what they were asked."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from app.settings import Model, Secret, Settings, Upstream
from tests.support.block_scripts import as_blocks
from tests.support.event_scripts import as_events
from tests.wire.servers import KEY, AnthropicUpstream, Ask, ChatUpstream, Json, Script, ScriptedUpstream
from tests.wire.servers.functions_only import VllmResponses
from tests.wire.servers.small_window import SmallWindow


class SummaryLane(NamedTuple):
    """A server, how it is configured, and how its asks are read."""

    server: type[ScriptedUpstream]
    upstream: dict[str, Any]
    model: str
    translated: Callable[[Script], Script]
    told: Callable[[Json], list[tuple[str, str]]]

    def serving(self, window: SmallWindow) -> ScriptedUpstream:
        """The server, whose model answers so."""
        return self.server(self.translated(window))

    def settings(self, url: str, window: int | None) -> Settings:
        """One model on this server."""
        lane = Upstream(base_url=url, api_key=Secret(KEY), **self.upstream)
        model = Model(upstream="scripted", name=self.model, context_window=window)
        return Settings(upstreams={"scripted": lane}, models={"m": model})

    def texts(self, ask: Ask) -> list[tuple[str, str]]:
        """Role and text of each message, and of each output of a tool, whose role is `tool`."""
        return self.told(ask.body)


def _chat(body: Json) -> list[tuple[str, str]]:
    return [(message["role"], str(message.get("content") or "")) for message in body["messages"]]


def _messages(body: Json) -> list[tuple[str, str]]:
    system = body.get("system") or []
    found = [("system", part["text"]) for part in ([{"text": system}] if isinstance(system, str) else system)]
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match block["type"]:
                case "text":
                    found.append((message["role"], block["text"]))
                case "tool_result":
                    found.append(("tool", _joined(block["content"])))
                case _:
                    pass
    return found


def _responses(body: Json) -> list[tuple[str, str]]:
    found = []
    for item in body["input"]:
        match item.get("type", "message"):
            case "message":
                found.append((item["role"], _joined(item["content"])))
            case "function_call_output":
                found.append(("tool", _joined(item["output"])))
            case _:
                pass
    return found


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


CHAT: Final = SummaryLane(ChatUpstream, {"via": "chat"}, "demo", lambda script: script, _chat)
SUMMARY_LANES: Final[dict[str, SummaryLane]] = {
    "chat": CHAT,
    "messages": SummaryLane(
        AnthropicUpstream, {"via": "messages", "provider": "anthropic"}, "claude-sonnet-4-5", as_blocks, _messages
    ),
    "functions": SummaryLane(VllmResponses, {"via": "responses", "provider": "vllm"}, "qwen", as_events, _responses),
}
