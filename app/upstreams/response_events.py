"""The bytes of a Responses server's answer -> events."""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from app.protocol.request.json_values import holds_more_values
from app.upstreams.sse_lines import MOST_VALUES, TOO_MANY_VALUES, SseEvents

Json = dict[str, Any]

LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
LONGEST_ERROR: Final = 64 * 1024
"""Bytes of a body that is no stream, as far as it is read."""

_decode: Final = msgspec.json.Decoder().decode


class NotEventsError(Exception):
    """The upstream's answer cannot be read as what it must be."""


class ToldError(Exception):
    """The upstream reported an error inside its answer."""

    def __init__(self, told: Json) -> None:
        super().__init__()
        self.told = told


class EventReader:
    """The bytes of one answer -> events."""

    def __init__(self) -> None:
        self._events = SseEvents()
        self._begun = b""
        """What came before the first event: the body, if this is no stream."""
        self.spoken = False
        self.done = False
        """The last event was heard: nothing that follows is read."""
        self.error: Json | None = None
        """The `error` event, of which the `response.failed` behind it may say more."""

    def read(self, data: bytes) -> Iterator[Json]:
        """The events that end in this piece. Raises behind the last sound one."""
        if not self.spoken and len(self._begun) < LONGEST_ERROR:
            self._begun += data
        for text in self._events.feed(data):
            if self.done:
                return
            event = self._event(text)
            if event is not None:
                yield event

    def end(self) -> None:
        """Nothing more comes. Without any event, the body is looked at: it may be an error."""
        if self.error is not None:
            raise ToldError(self.error)
        if self.spoken:
            return
        body = self._begun.strip()
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and told.get("error"):
            raise ToldError(told)
        if body:
            raise NotEventsError("the answer is not a stream of events")

    def _event(self, text: bytes) -> Json | None:
        if text == b"[DONE]":
            self.done = True
            return None
        event = _parsed(text)
        kind = event.get("type")
        if kind == "keepalive":  # strict clients break on it, and an upstream that says nothing else is silent
            return None
        if self.error is not None:
            return self._behind_error(self.error, event)
        if kind == "error":
            self.error = event
            return None
        if event.get("error") and kind is None:
            raise ToldError(event)
        if not isinstance(kind, str) or not kind.isprintable() or not kind:
            raise NotEventsError("an event of the stream has no type")
        if not self.spoken:
            self.spoken, self._begun = True, b""
        self.done = kind in LAST
        return event

    def _behind_error(self, error: Json, event: Json) -> Json:
        """The `response.failed` that follows an error, with that error where it names none itself."""
        response = event.get("response")
        if event.get("type") != "response.failed" or not isinstance(response, dict):
            raise ToldError(error)
        if not isinstance(response.get("error"), dict):
            held = error.get("error")
            told = held if isinstance(held, dict) else error
            response["error"] = {"code": told.get("code"), "message": told.get("message")}
        self.spoken = self.done = True
        return event


def _parsed(text: bytes) -> Json:
    if len(text) > MOST_VALUES and holds_more_values(text, MOST_VALUES):
        raise NotEventsError(TOO_MANY_VALUES)
    try:
        event = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
        try:  # half of a character in UTF-16, NaN: a model's text is not refused for that
            event = json.loads(text)
        except (ValueError, RecursionError):
            raise NotEventsError("an event of the stream is not JSON") from None
    if type(event) is not dict:
        raise NotEventsError("an event of the stream is not an object")
    return event
