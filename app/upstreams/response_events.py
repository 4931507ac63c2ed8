"""The bytes of a Responses server's answer -> events."""

import json
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any, Final

from .faults import ReportedError, asks_for_less, problem_in_stream
from .sse_lines import NotEventsError, SseEvents, event_object

Json = dict[str, Any]

LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
OPENING: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
"""The first events: they show nothing of the answer."""
HELD: Final = 2
"""Seconds that they are held back, in case that a refusal follows."""
MOST_HELD: Final = 8
AFTER_AN_ERROR: Final = 2
"""Seconds that `response.failed`, which has more details, may take to follow an `error` event."""
LONGEST_ERROR: Final = 64 * 1024
"""Bytes of a body that is not a stream, up to which it is read."""


class EventReader:
    """The bytes of one answer -> events."""

    def __init__(self) -> None:
        self._events = SseEvents()
        self._head = b""
        """The bytes before the first event: the body, if this is no stream."""
        self.started = False
        self.done = False
        """The last event was read: nothing after it is read."""
        self.error: Json | None = None
        """The `error` event; a `response.failed` after it may hold more details."""
        self._held: list[Json] | None = []
        """The first events, until they are returned. OpenAI refuses an input that is too long after them."""
        self._held_until = 0.0

    @property
    def time_left(self) -> float | None:
        """Seconds that the next piece may take, before `late` is called; None if it may take long."""
        if self.error is not None:
            return AFTER_AN_ERROR
        return max(self._held_until - monotonic(), 0) if self._held else None

    @property
    def holds(self) -> bool:
        """Whether no event was returned yet."""
        return self._held is not None

    def read(self, data: bytes) -> Iterable[Json]:
        """The events that end in this piece. Raises after the last valid one."""
        if not self.started and len(self._head) < LONGEST_ERROR:
            self._head += data
        texts = self._events.feed(data)
        if len(texts) == 1 and self._held is None and not self.done:  # as in nearly every piece
            event = self._event(texts[0])
            return [] if event is None else [event]
        return self._each(texts)

    def _each(self, texts: list[bytes]) -> Iterator[Json]:
        for text in texts:
            if self.done:
                return
            event = self._event(text)
            if event is None:
                continue
            if self._held is None:
                yield event
            elif event["type"] in OPENING and len(self._held) < MOST_HELD:
                self._hold(event, self._held)
            else:
                _raise_if_refused(event)
                yield from self.release()
                yield event

    def late(self) -> list[Json]:
        """The events to be sent because no piece came within `time_left`. Raises `ReportedError` after an error."""
        if self.error is not None:
            raise ReportedError(self.error)
        return self.release()

    def release(self) -> list[Json]:
        """The events that are held back. None is from then on."""
        held, self._held = self._held or [], None
        return held

    def _hold(self, event: Json, held: list[Json]) -> None:
        if not held:
            self._held_until = monotonic() + HELD
        held.append(event)

    def end(self) -> None:
        """Nothing more comes. If there was no event, the body may be an error."""
        if self.error is not None:
            raise ReportedError(self.error)
        if self.started:
            return
        body = self._head.strip()
        try:
            decoded = json.loads(body)
        except (ValueError, RecursionError):
            decoded = None
        if isinstance(decoded, dict) and decoded.get("error"):
            raise ReportedError(decoded)
        if body:
            raise NotEventsError("the answer is not a stream of events")

    def _event(self, text: bytes) -> Json | None:
        if text == b"[DONE]":
            self.done = True
            return None
        event = event_object(text)
        kind = event.get("type")
        if kind == "keepalive":  # strict clients break on it, and an upstream that sends nothing else is silent
            return None
        if self.error is not None:
            return self._after_error(self.error, event)
        if kind == "error":
            self.error = event
            return None
        if event.get("error") and kind is None:
            raise ReportedError(event)
        if not isinstance(kind, str) or not kind.isprintable() or not kind:
            raise NotEventsError("an event of the stream has no type")
        if not self.started:
            self.started, self._head = True, b""
        self.done = kind in LAST
        return event

    def _after_error(self, error: Json, event: Json) -> Json:
        """The `response.failed` that follows an error, with that error if it has none of its own."""
        response = event.get("response")
        if event.get("type") != "response.failed" or not isinstance(response, dict):
            raise ReportedError(error)
        if not isinstance(response.get("error"), dict):
            held = error.get("error")
            source = held if isinstance(held, dict) else error
            response["error"] = {"code": source.get("code"), "message": source.get("message")}
        self.started = self.done = True
        return event


def _raise_if_refused(event: Json) -> None:
    """Raises `ReportedError` if this is the failure of a response whose request could be asked again with less."""
    response = event.get("response")
    error = response.get("error") if event["type"] == "response.failed" and isinstance(response, dict) else None
    if isinstance(error, dict) and asks_for_less(problem_in_stream({"error": error}, model="")):
        raise ReportedError({"error": error})
