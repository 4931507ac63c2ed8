"""An Anthropic messages server that refuses what the real one refuses, and the events of its streams."""

import json
import re
from typing import Any, Final

from tests.support.servers.server import Ask, Json, ScriptedUpstream

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+\Z")
_SETTINGS: Final = frozenset(
    {
        "max_tokens", "messages", "metadata", "model", "output_config", "output_format", "service_tier",
        "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
    }
)  # fmt: skip
_BLOCKS: Final = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}


class AnthropicUpstream(ScriptedUpstream):
    """`POST /v1/messages`, streamed. A dict of the script is one event, framed under its `type`."""

    def faults(self, ask: Ask) -> list[str]:
        """Say what Anthropic would refuse."""
        if ask.path != "/v1/messages":
            return [f"there is no {ask.path}"]
        body = ask.body
        found = [f"unknown parameter {key}" for key in body if key not in _SETTINGS]
        found += [f"header {name} is missing" for name in ("x-api-key", "anthropic-version") if name not in ask.headers]
        if not isinstance(body.get("max_tokens"), int):
            found.append("max_tokens is required")
        if body.get("stream") is not True and not self.speaks_whole:
            found.append("stream must be true")
        thinking = body.get("thinking") or {}
        if thinking.get("type") == "enabled" and not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            found.append("thinking.budget_tokens must be at least 1024 and less than max_tokens")
        found += _tool_faults(body)
        return found + _message_faults(body.get("messages") or [])

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame one event."""
        if step.get("type") == "message_start":
            step["message"].setdefault("model", ask.body["model"])
        return f"event: {step['type']}\ndata: {json.dumps(step)}\n\n".encode()

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Anthropic does."""
        kind = "invalid_request_error" if status < 500 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": message}}


def begins(**usage: int) -> list[Json]:
    """Open a message: what it cost to read the prompt, and a ping."""
    told: Json = {"id": "msg_scripted", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    told["usage"] = {"input_tokens": 1, "output_tokens": 1, **usage}
    return [{"type": "message_start", "message": told}, {"type": "ping"}]


def block(index: int, kind: str, *deltas: Json, **start: Any) -> list[Json]:
    """One content block, from start to stop."""
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **start}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[Json]:
    """Text in pieces."""
    return block(index, "text", *({"type": "text_delta", "text": piece} for piece in pieces), text="")


def thinking(index: int, *pieces: str, signature: str = "c2ln") -> list[Json]:
    """Thoughts in pieces, and their signature."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, "thinking", *deltas, signed, thinking="", signature="")


def tool_use(index: int, name: str, call_id: str, *pieces: str) -> list[Json]:
    """A call with its arguments in pieces."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, "tool_use", *deltas, id=call_id, name=name, input={})


def ends(reason: str = "end_turn", **usage: Any) -> list[Json]:
    """Close the message: why, and what it cost."""
    told = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": told, "usage": {"output_tokens": 1, **usage}},
        {"type": "message_stop"},
    ]


def _tool_faults(body: Json) -> list[str]:
    if "tools" not in body:
        blocks = [block for message in body.get("messages") or [] for block in _blocks(message)]
        used = any(block.get("type") in {"tool_use", "tool_result"} for block in blocks)
        found = ["tool_choice without tools"] if "tool_choice" in body else []
        return [*found, "past calls need tools"] if used else found
    if not body["tools"]:
        return ["tools must not be empty"]
    found = [f"tool name {tool.get('name')} is malformed" for tool in body["tools"] if not _NAME.match(tool["name"])]
    return found + [
        f"tool {tool['name']} has no input_schema of an object"
        for tool in body["tools"]
        if (tool.get("input_schema") or {}).get("type") != "object"
    ]


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _message_faults(messages: list[Json]) -> list[str]:
    if not messages or messages[0].get("role") != "user":
        return ["the first message must be the user's"]
    found = []
    waiting: set[str] = set()
    for seat, message in enumerate(messages):
        role = str(message.get("role"))
        blocks = _blocks(message)
        if role not in _BLOCKS:
            found.append(f"messages[{seat}].role {role} is not known")
            continue
        if not blocks:
            found.append(f"messages[{seat}].content is empty")
        for held in blocks:
            if held.get("type") not in _BLOCKS[role]:
                found.append(f"messages[{seat}]: block {held.get('type')} is not allowed for {role}")
            if held.get("type") == "text" and not held["text"].strip():
                found.append(f"messages[{seat}]: a text block is blank")
            if held.get("type") == "tool_use" and not (_ID.match(held["id"]) and isinstance(held["input"], dict)):
                found.append(f"messages[{seat}]: a tool_use block is malformed")
        answered = {held["tool_use_id"] for held in blocks if held.get("type") == "tool_result"}
        if answered != waiting:
            found.append(f"messages[{seat}] answers {sorted(answered)}, but the open calls are {sorted(waiting)}")
        waiting = {held["id"] for held in blocks if held.get("type") == "tool_use"}
    return [*found, f"the calls {sorted(waiting)} have no results"] if waiting else found
