"""Servers that have the Responses API themselves: the bytes of their answers -> events.

OpenAI tells some refusals, such as of an input that is too long, behind the first events, which show nothing of the
answer: these are held back until something else comes, so that a refusal is still one. An `error` is followed by a
`response.failed` with more details, or by the end of the answer.
"""

from typing import Any

from ...types.json import Json, NotJsonError, decode
from ..frames import Lines, TooLongError
from ..record import Counter, NotAnAnswerError, Relay
from ..usage import tokens_in
from .exchange import LAST, RelayExchange

_OPENING = frozenset({"response.created", "response.queued", "response.in_progress"})
_MOST_HELD = 8
"""Another AM Proxy sends `response.in_progress` again and again while its model is silent."""


class Frames:
    """Reads one answer."""

    def __init__(self, _asked: Json) -> None:
        self._lines = Lines()
        self._pending: list[bytes] = []
        """The data lines of an event that has not ended."""
        self._body = bytearray()
        """Lines that belong to no stream: the body, if this is none."""
        self._held: list[Json] | None = []
        """The first events; None behind them."""
        self._error: Json | None = None
        """An `error` that was not passed on yet."""
        self._found = False
        self.done = False

    def feed(self, piece: bytes) -> list[Json]:
        """The events that end in this piece."""
        events: list[Json] = []
        try:
            for line in self._lines.feed(piece):
                if line.startswith(b"data:"):
                    self._pending.append(line[5:])
                elif not line and self._pending:
                    data, self._pending = b"\n".join(self._pending).strip(), []
                    events += self._event(data)
                elif line and not self._found and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                    self._body += line
        except TooLongError:
            raise NotAnAnswerError("a line of the stream is too long") from None
        except NotAnAnswerError as error:
            error.before = events
            raise
        return events

    def end(self) -> list[Json]:
        """The events that are left when no more bytes come; or the error that the body is."""
        events = self.feed(b"\n\n")
        if self._error is not None:
            return [*events, self._error]
        if self._body and not self._found:
            try:
                body = decode(bytes(self._body))
            except NotJsonError:
                body = None
            if not isinstance(body, dict) or not body.get("error"):
                raise NotAnAnswerError("the answer is not a stream of events")
            return [{"type": "error", "error": body["error"]}]
        held, self._held = self._held or [], None
        return [*events, *held]

    def go_on(self) -> None:
        """Nothing: these servers do not pause."""

    def _event(self, data: bytes) -> list[Json]:
        """The event in this data, if it is passed on now."""
        if self.done or data in (b"", b"[DONE]"):
            self.done = self.done or (bool(data) and self._error is None and not self._held)
            return []
        try:
            event = decode(data)
        except NotJsonError:
            raise NotAnAnswerError("an event of the stream is not JSON") from None
        self._found = True
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "keepalive":  # strict clients break on it
            return []
        if kind is None and isinstance(event, dict) and event.get("error"):
            return [{"type": "error", **event}]
        if not isinstance(kind, str):
            raise NotAnAnswerError("an event of the stream has no type")
        if kind == "error":
            self._error = event
            return []
        return self._passed(kind, event)

    def _passed(self, kind: str, event: Json) -> list[Json]:
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
    error = event.get("error")
    return error if error is not None else {name: value for name, value in event.items() if name != "type"}


def tokens_of(body: Json) -> int:
    """Estimated tokens of what the model reads."""
    return tokens_in(body, ("instructions", "input", "tools"))


_COUNTED = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"}
)
"""The members of a request that are counted: servers refuse others there."""


def _counted(body: Json) -> Json:
    return {name: value for name, value in body.items() if name in _COUNTED}


_COUNTER = Counter("/responses/input_tokens", "input_tokens", _counted, is_sure=True)
RESPONSES = Relay("/responses", Frames, failure, tokens_of, RelayExchange, (_COUNTER,))
