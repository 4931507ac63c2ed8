"""A server of Anthropic's Messages API that refuses what the real one refuses, and the events of its streams."""

import json
from typing import Any, Final

from tests.wire.servers.anthropic_rules import THOUGHTS, body_faults, thinks
from tests.wire.servers.anthropic_types import event_faults, message_faults
from tests.wire.servers.model import (
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
from tests.wire.servers.steps import Ask, Json, Status, Step

COUNTED: Final = frozenset({"messages", "model", "system", "thinking", "tool_choice", "tools"})
"""The fields of a request to count tokens that are sent here. The server refuses those that are about the answer."""


class AnthropicUpstream(ModelUpstream):
    """`POST /v1/messages` of `api.anthropic.com`. A dict of a script is one event, framed under its `type`.

    As a model it thinks before it calls: thinking blocks come back unaltered, in their places.
    """

    model = "claude-sonnet-4-5"
    count = Count(cached=CACHED, reasoning=REASONING)

    counts: bool = True
    """Whether it counts tokens: a word each. Otherwise such requests follow the script like any other."""

    def beside(self, ask: Ask) -> Status | None:
        """Count the words of a body without what is about the answer."""
        if not self.counts or ask.path != "/v1/messages/count_tokens":
            return None
        self.violations += [f"count_tokens: unknown parameter {key}" for key in ask.body if key not in COUNTED]
        return Status(200, {"input_tokens": max(1, len(json.dumps(ask.body.get("messages")).split()))})

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
        message = {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": self._blocks(answer),
            "stop_reason": _reason(answer),
            "stop_sequence": None,
            "usage": {**_READ, **_WROTE},
        }
        self.violations += message_faults(message)
        return message

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
        found = [f"header {name} is missing" for name in ("x-api-key", "anthropic-version") if name not in ask.headers]
        if body.get("stream") is not True and not self.speaks_whole:
            found.append("stream must be true")
        found += body_faults(body)
        return found + self._memory_faults(body) if self.plays_model else found

    def _memory_faults(self, body: Json) -> list[str]:
        """Refuse thoughts that were altered, and calls without the thoughts before them."""
        found: list[str] = []
        thoughts = [held for blocks in self.said for held in blocks if held["type"] in THOUGHTS]
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
                if held["type"] in THOUGHTS and held not in thoughts
            ]
            calls = [held["id"] for held in received if held["type"] == "tool_use"]
            items = next((by_call[call] for call in calls if call in by_call), received)
            if not thinks(body):
                items = [held for held in items if held["type"] not in THOUGHTS]
            if items != received and not self.forgives:
                found.append(f"messages.{position} was said otherwise: {shortened(items)}, not {shortened(received)}")
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame one event."""
        if step.get("type") == "message_start":
            step["message"].setdefault("model", ask.body["model"])
        self.violations += event_faults(step)
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


_READ: Final = {"input_tokens": PROMPT - CACHED, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0}
_WROTE: Final = {"output_tokens": COMPLETION, "output_tokens_details": {"thinking_tokens": REASONING}}


def _reason(answer: Answer) -> str:
    return "tool_use" if any(isinstance(word, Calls) for word in answer) else "end_turn"
