"""Scripts of a chat server, translated to those of a server of the Messages API that says the same.

A block is sent whole before the next one begins, so arguments that arrive by turns are gathered, each call in its
place.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.support.servers import Cut, Json, Pause, Reset, Script, Status, Step
from tests.support.servers.anthropic import begins, ends, text, thinking, tool_use
from tests.support.servers.model import sealed

REASONS: Final = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
ERRORS: Final = {400: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error"}
"""How the Messages API names the errors of these statuses; those of others are an `api_error`."""
_ANYWHERE: Final = (Pause, Cut, Reset)
"""Steps that stay where they are."""


class UntranslatableError(ValueError):
    """The Messages API has no such thing."""


def as_blocks(script: Script) -> Script:
    """The script of a server of the Messages API that says the same."""
    if callable(script):
        return lambda ask: _translated(script(ask))
    return _translated(script)


def _translated(steps: Sequence[Step]) -> list[Step]:
    usage: Json = next((step["usage"] for step in steps if isinstance(step, dict) and step.get("usage")), {})
    blocks = _Blocks(begins(input_tokens=usage.get("prompt_tokens", 1)), usage.get("completion_tokens", 1))
    for step in steps:
        match step:
            case Status():
                return [_status(step)]
            case {"error": Mapping() as error}:
                blocks.steps.append(_error(error.get("code"), str(error["message"])))
            case {"choices": list(choices)}:
                for choice in choices:
                    blocks.add(choice)
            case step if isinstance(step, _ANYWHERE):
                blocks.steps.append(step)
            case _:
                raise UntranslatableError(step)
    return blocks.steps


def _status(step: Status) -> Status:
    error = step.body["error"] if isinstance(step.body, dict) else {}
    return Status(step.status, _error(step.status, str(error.get("message"))), step.headers)


def _error(status: Any, message: str) -> Json:
    return {"type": "error", "error": {"type": ERRORS.get(status, "api_error"), "message": message}}


class _Blocks:
    """The events so far, and what is not sent yet."""

    def __init__(self, steps: Sequence[Step], wrote: int) -> None:
        self.steps: list[Step] = list(steps)
        self._wrote = wrote
        self._next = 0
        """The index of the next block."""
        self._kind = ""
        """The type of the open block; empty if none is."""
        self._said: list[str] = []
        """The pieces of the open block."""
        self._calls: dict[int, tuple[str, str, list[str]]] = {}
        """Calls by their chat index: name, id and arguments."""
        self._refused = ""

    def add(self, choice: Json) -> None:
        """One choice of a chunk."""
        delta: Json = choice["delta"]
        known = {"content", "reasoning_content", "reasoning", "tool_calls", "refusal", "role"}
        if choice["index"] or delta.keys() - known or choice.get("logprobs"):
            raise UntranslatableError(choice)
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            self._write("thinking", thought)
        if said := delta.get("content"):
            self._write("text", said)
        for fragment in delta.get("tool_calls") or []:
            self._call(fragment)
        self._refused += delta.get("refusal") or ""
        if choice.get("finish_reason"):
            self._end(choice["finish_reason"])

    def _write(self, kind: str, piece: str) -> None:
        if self._kind != kind:
            self._close()
            self._kind = kind
            self.steps.append(self._events(kind, [])[0])
        self._said.append(piece)
        self.steps.append(self._events(kind, [piece])[1])

    def _events(self, kind: str, pieces: Sequence[str]) -> list[Json]:
        """The events of a block with these pieces."""
        if kind == "text":
            return text(self._next, *pieces)
        return thinking(self._next, *pieces, signature=sealed("".join(self._said)))

    def _close(self) -> None:
        """Close the block that is open, and write the calls."""
        if self._kind:
            self.steps += self._events(self._kind, [])[1:]
            self._next += 1
        for name, call_id, arguments in self._calls.values():
            self.steps += tool_use(self._next, name, call_id, *arguments)
            self._next += 1
        self._kind = ""
        self._said.clear()
        self._calls.clear()

    def _call(self, fragment: Json) -> None:
        function = fragment.get("function") or {}
        if fragment.get("id") is not None:
            if self._kind:
                self._close()
            self._calls[fragment["index"]] = (function["name"], fragment["id"], [])
        if function.get("arguments"):
            self._calls[fragment["index"]][2].append(function["arguments"])

    def _end(self, reason: str) -> None:
        self._close()
        stopped, stop = ends("refusal" if self._refused else REASONS[reason], output_tokens=self._wrote)
        if self._refused:
            stopped["delta"]["stop_details"] = {"type": "refusal", "category": None, "explanation": self._refused}
        self.steps += [stopped, stop]
