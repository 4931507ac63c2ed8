"""The bytes of a Responses server's answer -> events."""

import json
from collections.abc import Iterator
from typing import Any, Final

from .faults import ReportedError
from .sse_lines import NotEventsError, SseEvents, event_object

Json = dict[str, Any]

LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
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

    def read(self, data: bytes) -> Iterator[Json]:
        """The events that end in this piece. Raises after the last valid one."""
        if not self.started and len(self._head) < LONGEST_ERROR:
            self._head += data
        for text in self._events.feed(data):
            if self.done:
                return
            event = self._event(text)
            if event is not None:
                yield event

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
