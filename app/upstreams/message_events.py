"""The bytes of a Messages server's answer -> its events.

The beginning of an answer is held back until the next event: servers that are overloaded say so after it, and then
another upstream can still be asked. A whole answer that is sent although a stream was requested is read as the events
of a stream.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from .faults import ReportedError
from .sse_lines import LONGEST, NotEventsError, SseEvents, event_object

Json = dict[str, Any]

DONE: Final = b"[DONE]"
"""How some servers end, like chat servers."""


class MessageEvents:
    """Reads one answer."""

    def __init__(self) -> None:
        self._events = SseEvents()
        self._body = bytearray()
        """The bytes before the first event: the body, if this is no stream."""
        self._held: Json | None = None
        self._found = False
        self.done = False
        """The last event was read: nothing after it is read."""

    def read(self, data: bytes) -> Iterable[Json]:
        """The events that end in this piece. Raises after the last valid one."""
        if not self._found and len(self._body) <= LONGEST:
            self._body += data
        texts = self._events.feed(data)
        if len(texts) == 1 and not self.done and texts[0] != DONE:  # as in nearly every piece
            return self._take(event_object(texts[0]))
        return self._each(texts)

    def _each(self, texts: list[bytes]) -> Iterator[Json]:
        for text in texts:
            if self.done:
                return
            if text == DONE:
                self.done = True
                return
            yield from self._take(event_object(text))

    def end(self) -> Iterator[Json]:
        """The events that are left when no more bytes come."""
        if self._held is not None:
            yield self._held
        elif not self._found and (body := bytes(self._body).strip()):
            yield from _whole(body)

    def _take(self, event: Json) -> list[Json]:
        """What is sent for this event: the event itself, after the one that was held back for it."""
        kind = event.get("type")
        if kind == "error" or (kind is None and event.get("error")):
            raise ReportedError(event)
        if not self._found:
            self._found = True
            self._body.clear()
        if kind == "ping":  # a server that sends nothing else is silent
            return []
        if kind == "message_start":
            self._held = event
            return []
        held, self._held = self._held, None
        self.done = kind == "message_stop"
        return [event] if held is None else [held, event]


def _whole(body: bytes) -> Iterator[Json]:
    """An answer that was not streamed, as events."""
    try:
        answer = event_object(body)
    except NotEventsError:
        raise NotEventsError("the answer is neither a stream nor JSON") from None
    if answer.get("type") == "error" or answer.get("error"):
        raise ReportedError(answer)
    content = answer.get("content")
    if not isinstance(content, list):
        raise NotEventsError("the answer is no message")
    usage = answer.get("usage")
    yield {"type": "message_start", "message": {"usage": usage}}
    for index, block in enumerate(content):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_stop", "index": index}
    ending = {name: answer.get(name) for name in ("stop_reason", "stop_details")}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}
