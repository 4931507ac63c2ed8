"""Servers that have the Responses API themselves: the bytes of their answers -> events.

OpenAI tells some refusals, such as of an input that is too long, behind the first events, which show nothing of the
answer: these are held back until something else comes, so that a refusal is still one. An `error` is followed by a
`response.failed` with more details, or by the end of the answer.
"""

from typing import Any

from ...types.json import Json
from ..frames import Frames, NotAnAnswerError
from ..record import Counter, Dialect
from .exchange import LAST

_OPENING = frozenset({"response.created", "response.queued", "response.in_progress"})
_OF_ERRORS = frozenset({"code", "message", "param"})
"""The members of an `error` event that are about the error."""
_MOST_HELD = 8
"""Another AM Proxy sends `response.in_progress` again and again while its model is silent."""


class EventFrames(Frames):
    """Reads one answer."""

    _payload = "an event"
    _no_answer = "the answer is not a stream of events"

    def __init__(self, _asked: Json | None = None) -> None:
        super().__init__()
        self._held: list[Json] | None = []
        """The first events; None behind them."""
        self._error: Json | None = None
        """An `error` that was not passed on yet."""

    def end(self) -> list[Json]:
        """The events that are left when no more bytes come."""
        return [*super().end(), *self._ended()]

    def _ended(self) -> list[Json]:
        held, self._held = self._held or [], None
        return held if self._error is None else [self._error]

    def _whole(self, answer: Json) -> list[Json]:
        if not answer.get("error"):
            raise NotAnAnswerError(self._no_answer)
        return [{"type": "error", "error": answer["error"]}]

    def _taken(self, event: Json) -> list[Json]:
        """The event, if it is passed on now."""
        kind = event.get("type")
        if kind == "keepalive":  # strict clients break on it
            return []
        if kind is None and event.get("error"):
            return [{**event, "type": "error"}]
        if not isinstance(kind, str):
            raise NotAnAnswerError("an event of the stream has no type")
        if kind == "error":
            self._error = event
            return []
        error, self._error = self._error, None
        self.done = kind in LAST
        if kind == "response.failed" and isinstance(response := event.get("response"), dict):
            if error is not None and not response.get("error"):
                response["error"] = failure(error)
            if self._held is not None:
                return [{"type": "error", "error": response.get("error") or {}}]
        elif error is not None:
            return [error]
        elif kind in _OPENING and self._held is not None and len(self._held) < _MOST_HELD:
            self._held.append(event)
            return []
        held, self._held = self._held or [], None
        return [*held, event]


def failure(event: Json) -> Any:
    """The error that this event is; None if it is another event."""
    if event["type"] != "error":
        return None
    told = {name: value for name, value in event.items() if name in _OF_ERRORS and value is not None}
    return event.get("error") or told


_COUNTED = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"}
)
"""The members of a request that are counted: servers refuse others there."""


def _counted(body: Json) -> Json:
    return {name: value for name, value in body.items() if name in _COUNTED}


_COMPACTED = frozenset(
    {
        "model", "input", "instructions", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "service_tier",
    }
)  # fmt: skip
"""The members of a request that are taken for a summary."""


def _compacted(body: Json) -> Json:
    """Without the last item, which asks for the summary."""
    return {name: value for name, value in body.items() if name in _COMPACTED} | {"input": body["input"][:-1]}


_COUNTER = Counter("/responses/input_tokens", "input_tokens", _counted, is_sure=True)
RESPONSES = Dialect(
    "/responses",
    EventFrames,
    failure,
    ("instructions", "input", "tools"),
    counters=(_COUNTER,),
    compacted=_compacted,
    relays=True,
)
