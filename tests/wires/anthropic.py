"""Anthropic's messages: thinking blocks come back unaltered, in their places before the calls they led to."""

from typing import Final

from tests.upstream.anthropic import AnthropicUpstream, begins, block, ends, text, thinking, tool_use
from tests.upstream.server import Ask, Json, Step
from tests.wires.chat_family import told
from tests.wires.wire import (
    CACHED,
    COMPLETION,
    PROMPT,
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
    count = Count(cached=CACHED)

    def forget(self) -> None:
        """Forget what was said."""
        self.said: list[list[Json]] = []

    def key_of(self, ask: Ask) -> str | None:
        """Anthropic has a header of its own."""
        return ask.headers.get("x-api-key")

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it block by block."""
        steps: list[Step] = [*begins(**_READ)]
        for index, held in enumerate(self._blocks(answer)):
            match held["type"]:
                case "thinking":
                    steps += thinking(index, *pieces(held["thinking"]), signature=held["signature"])
                case "redacted_thinking":
                    steps += block(index, "redacted_thinking", data=held["data"])
                case "text":
                    steps += text(index, *pieces(held["text"]))
                case _:
                    [word] = [
                        word for word in answer if isinstance(word, Calls) and arguments_of(word) == held["input"]
                    ]
                    steps += tool_use(index, held["name"], held["id"], *pieces(word.arguments))
        return [*steps, *ends(_reason(answer), output_tokens=COMPLETION)]

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
            "usage": {**_READ, "output_tokens": COMPLETION},
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
            if foreign := _without_thoughts(ask.body, heard):
                found.append(f"messages.{seat}.content.0.type: {foreign}")
            calls = [held["id"] for held in heard if held["type"] == "tool_use"]
            said = next((by_call[call] for call in calls if call in by_call), heard)
            if said != heard:
                found.append(f"messages.{seat} was said otherwise: {told(said)}, not {told(heard)}")
        return found

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Anthropic does."""
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


_READ: Final = {"input_tokens": PROMPT - CACHED, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0}


def _reason(answer: Answer) -> str:
    return "tool_use" if any(isinstance(word, Calls) for word in answer) else "end_turn"


def _without_thoughts(body: Json, blocks: list[Json]) -> str:
    """Say what Anthropic says of a call without thoughts while it may think."""
    thinks = (body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}
    calls = any(held["type"] == "tool_use" for held in blocks)
    if not thinks or not calls or blocks[0]["type"] in THOUGHTS:
        return ""
    return f"Expected `thinking` or `redacted_thinking`, but found `{blocks[0]['type']}`."
