"""Anthropic's messages: thinking blocks come back unaltered, in their places before the calls they led to."""

from typing import Final

from tests.support.servers.anthropic import AnthropicUpstream, begins, block, ends, text, thinking, tool_use
from tests.support.servers.server import Ask, Json, Step
from tests.wires.chat_family import told
from tests.wires.wire import (
    CACHED,
    COMPLETION,
    PROMPT,
    REASONING,
    Answer,
    Calls,
    Count,
    Hides,
    Says,
    Thinks,
    Wire,
    Word,
    arguments_of,
    pieces,
    sealed,
)

THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


class AnthropicWire(Wire, AnthropicUpstream):
    """`POST /v1/messages` of `api.anthropic.com`, asked for a model that may think before it calls."""

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
        """Refuse thoughts that were altered, and calls without the thoughts before them."""
        found = super().faults(ask)
        thoughts = [held for blocks in self.said for held in blocks if held["type"] in THOUGHTS]
        turns = [blocks for blocks in self.said if any(held["type"] == "tool_use" for held in blocks)]
        by_call = {held["id"]: blocks for blocks in turns for held in blocks if held["type"] == "tool_use"}
        for seat, message in enumerate(ask.body.get("messages") or []):
            content = message.get("content")
            if message.get("role") != "assistant" or not isinstance(content, list):
                continue
            heard = [{key: value for key, value in held.items() if key != "cache_control"} for held in content]
            found += [
                f"messages.{seat}.content.{place}: Invalid `signature` in `thinking` block: {told(held)}"
                for place, held in enumerate(heard)
                if held["type"] in THOUGHTS and held not in thoughts
            ]
            calls = [held["id"] for held in heard if held["type"] == "tool_use"]
            said = next((by_call[call] for call in calls if call in by_call), heard)
            if not _thinks(ask.body):
                said = [held for held in said if held["type"] not in THOUGHTS]
            if said != heard and not self.forgives:
                found.append(f"messages.{seat} was said otherwise: {told(said)}, not {told(heard)}")
        if fault := _last_turn_fault(ask.body):
            found.append(fault)
        return found

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Anthropic does."""
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


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
    if _thinks(body) and first not in THOUGHTS and blocks[0]["type"] not in THOUGHTS:
        return (
            f"Expected `thinking` or `redacted_thinking`, but found `{first}`, which a final assistant message begins."
        )
    if not _thinks(body) and any(held["type"] in THOUGHTS for held in blocks):
        return "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
    return ""
