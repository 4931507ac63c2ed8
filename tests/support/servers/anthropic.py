"""A server of Anthropic's Messages API that refuses what the real one refuses, and the events of its streams."""

import json
import re
from typing import Any, Final

from tests.support.servers.model import (
    CACHED,
    COMPLETION,
    PROMPT,
    REASONING,
    Answer,
    Calls,
    Count,
    Hides,
    ModelUpstream,
    Says,
    Thinks,
    Word,
    arguments_of,
    pieces,
    sealed,
    shortened,
)
from tests.support.servers.steps import Ask, Json, Step

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
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


class AnthropicUpstream(ModelUpstream):
    """`POST /v1/messages` of `api.anthropic.com`. A dict of a script is one event, framed under its `type`.

    As a model it thinks before it calls: thinking blocks come back unaltered, in their places.
    """

    model = "claude-sonnet-4-5"
    count = Count(cached=CACHED, reasoning=REASONING)

    def forget(self) -> None:
        """Forget what was said."""
        self.said: list[list[Json]] = []

    def key_of(self, ask: Ask) -> str | None:
        """Anthropic has a header of its own."""
        return ask.headers.get("x-api-key")

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it block by block."""
        steps: list[Step] = [*begins(**_READ)]
        for index, (word, held) in enumerate(zip(answer, self._blocks(answer), strict=True)):
            match word:
                case Thinks(thought):
                    steps += thinking(index, *pieces(thought), signature=held["signature"])
                case Hides():
                    steps += block(index, "redacted_thinking", data=held["data"])
                case Says(said):
                    steps += text(index, *pieces(said))
                case Calls(name, arguments):
                    steps += tool_use(index, name, held["id"], *pieces(arguments))
        return [*steps, *ends(_reason(answer), **_WROTE)]

    def whole(self, answer: Answer) -> Json:
        """Say it in one body."""
        return {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self._blocks(answer),
            "stop_reason": _reason(answer),
            "stop_sequence": None,
            "usage": {**_READ, **_WROTE},
        }

    def _blocks(self, answer: Answer) -> list[Json]:
        blocks = [self._block(word) for word in answer]
        self.said.append(blocks)
        return blocks

    def _block(self, word: Word) -> Json:
        match word:
            case Thinks(thought):
                return {"type": "thinking", "thinking": thought, "signature": sealed(thought)}
            case Hides(thought):
                return {"type": "redacted_thinking", "data": sealed(thought)}
            case Says(said):
                return {"type": "text", "text": said}
            case Calls(name):
                call_id = self.call_id("toolu_01{:.22}")
                return {"type": "tool_use", "id": call_id, "name": name, "input": arguments_of(word)}

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
        found += _message_faults(body.get("messages") or [])
        return found + self._memory_faults(body) if self.plays_model else found

    def _memory_faults(self, body: Json) -> list[str]:
        """Refuse thoughts that were altered, and calls without the thoughts before them."""
        found: list[str] = []
        thoughts = [held for blocks in self.said for held in blocks if held["type"] in _THOUGHTS]
        turns = [blocks for blocks in self.said if any(held["type"] == "tool_use" for held in blocks)]
        by_call = {held["id"]: blocks for blocks in turns for held in blocks if held["type"] == "tool_use"}
        for position, message in enumerate(body.get("messages") or []):
            content = message.get("content")
            if message.get("role") != "assistant" or not isinstance(content, list):
                continue
            received = [{key: value for key, value in held.items() if key != "cache_control"} for held in content]
            found += [
                f"messages.{position}.content.{place}: Invalid `signature` in `thinking` block: {shortened(held)}"
                for place, held in enumerate(received)
                if held["type"] in _THOUGHTS and held not in thoughts
            ]
            calls = [held["id"] for held in received if held["type"] == "tool_use"]
            items = next((by_call[call] for call in calls if call in by_call), received)
            if not _thinks(body):
                items = [held for held in items if held["type"] not in _THOUGHTS]
            if items != received and not self.forgives:
                found.append(f"messages.{position} was said otherwise: {shortened(items)}, not {shortened(received)}")
        if fault := _last_turn_fault(body):
            found.append(fault)
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame one event."""
        if step.get("type") == "message_start":
            step["message"].setdefault("model", ask.body["model"])
        return f"event: {step['type']}\ndata: {json.dumps(step)}\n\n".encode()

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Anthropic does."""
        kind = {401: "authentication_error", 500: "api_error"}.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def begins(**usage: int) -> list[Json]:
    """Open a message: what it cost to read the prompt, and a ping."""
    result: Json = {"id": "msg_scripted", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    result["usage"] = {"input_tokens": 1, "output_tokens": 1, **usage}
    return [{"type": "message_start", "message": result}, {"type": "ping"}]


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
    result = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": result, "usage": {"output_tokens": 1, **usage}},
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
    for position, message in enumerate(messages):
        role = str(message.get("role"))
        blocks = _blocks(message)
        if role not in _BLOCKS:
            found.append(f"messages[{position}].role {role} is not known")
            continue
        if not blocks:
            found.append(f"messages[{position}].content is empty")
        for held in blocks:
            if held.get("type") not in _BLOCKS[role]:
                found.append(f"messages[{position}]: block {held.get('type')} is not allowed for {role}")
            if held.get("type") == "text" and not held["text"].strip():
                found.append(f"messages[{position}]: a text block is blank")
            if held.get("type") == "tool_use" and not (_ID.match(held["id"]) and isinstance(held["input"], dict)):
                found.append(f"messages[{position}]: a tool_use block is malformed")
        answered = {held["tool_use_id"] for held in blocks if held.get("type") == "tool_result"}
        if answered != waiting:
            found.append(f"messages[{position}] answers {sorted(answered)}, but the open calls are {sorted(waiting)}")
        waiting = {held["id"] for held in blocks if held.get("type") == "tool_use"}
    return [*found, f"the calls {sorted(waiting)} have no results"] if waiting else found


_READ: Final = {"input_tokens": PROMPT - CACHED, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0}
_WROTE: Final = {"output_tokens": COMPLETION, "output_tokens_details": {"thinking_tokens": REASONING}}


def _reason(answer: Answer) -> str:
    return "tool_use" if any(isinstance(word, Calls) for word in answer) else "end_turn"


def _thinks(body: Json) -> bool:
    return (body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}


def _last_turn_fault(body: Json) -> str:
    """Say what Anthropic says of a tool loop that began with thoughts and goes on without, or the other way round."""
    turns: list[list[Json]] = []
    for message in body.get("messages") or []:
        blocks = message["content"] if isinstance(message["content"], list) else []
        if message["role"] == "user" and not any(held["type"] == "tool_result" for held in blocks):
            turns = []  # a loop ends where the user speaks
        elif message["role"] == "assistant":
            turns.append(blocks)
    blocks = turns[-1] if turns else []
    if not any(held["type"] == "tool_use" for held in blocks):
        return ""
    first = turns[0][0]["type"] if turns[0] else "text"
    if _thinks(body) and first not in _THOUGHTS and blocks[0]["type"] not in _THOUGHTS:
        return (
            f"Expected `thinking` or `redacted_thinking`, but found `{first}`, which a final assistant message begins."
        )
    if not _thinks(body) and any(held["type"] in _THOUGHTS for held in blocks):
        return "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
    return ""
