"""Asking an upstream, for real: what every test of this room does."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from app.protocol.problems import Problem
from app.upstreams.port import UpstreamBroke, UpstreamPort, UpstreamRefused
from tests.wire.servers import AnthropicUpstream, Ask, ChatUpstream, GeminiUpstream, Script, ScriptedUpstream

Json = dict[str, Any]

KEY = "sk-the-one-that-is-configured"

SERVERS: dict[str, type[ScriptedUpstream]] = {"anthropic": AnthropicUpstream, "gemini": GeminiUpstream}
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Says how the weather is.",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]


class Lenient(ChatUpstream):
    """A chat server to which paths and settings do not matter."""

    def faults(self, ask: Ask) -> list[str]:  # noqa: ARG002 — it refuses nothing
        """Refuse nothing."""
        return []


def server(provider: str | None, *scripts: Script) -> ScriptedUpstream:
    """A scripted server that speaks what this provider of litellm speaks."""
    return SERVERS.get(str(provider), ChatUpstream)(*scripts)


def asks(provider: str | None = None, **settings: Any) -> Json:
    """The smallest ask, and whatever is added to it."""
    return {
        "model": MODELS.get(str(provider), "m"),
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        **settings,
    }


async def answers(chat: UpstreamPort[Json, Json], ask: Json) -> tuple[list[Json], Problem | None]:
    """Every chunk, and what went wrong in the end. A refusal comes before the first chunk, a break after it."""
    chunks: list[Json] = []
    try:
        async with aclosing(chat.open(ask)) as payloads:
            async for payload in payloads:
                chunks.append(payload)  # noqa: PERF401 — what came before an error is wanted too
    except UpstreamRefused as refused:
        assert chunks == []
        return [], refused.problem
    except UpstreamBroke as broke:
        assert chunks != []
        return chunks, broke.problem
    return chunks, None


def answer_of(chunks: Sequence[Json]) -> Json:
    """What these chunks amount to, so that streams of all providers can be compared as wholes."""
    result: Json = {"text": "", "reasoning": "", "refusal": "", "calls": [], "finish": None, "usage": None}
    for chunk in chunks:
        result["usage"] = chunk.get("usage") or result["usage"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            result["text"] += delta.get("content") or ""
            result["reasoning"] += delta.get("reasoning_content") or delta.get("reasoning") or ""
            result["refusal"] += delta.get("refusal") or ""
            result["finish"] = choice.get("finish_reason") or result["finish"]
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                if call.get("id"):
                    result["calls"].append([call["index"], call["id"], function["name"], ""])
                mine = next(held for held in reversed(result["calls"]) if held[0] == call["index"])
                mine[3] += function.get("arguments") or ""
    return {key: value for key, value in result.items() if value}
