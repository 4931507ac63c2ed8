"""Events -> ready SSE bytes; one send per batch."""

from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
from sse_starlette import EventSourceResponse
from starlette.types import Message

from app.protocol.events import Event, Relayed
from app.transports.warnings import in_event

DONE: Final = b"data: [DONE]\n\n"
"""The specification wants it; every client ignores it."""


@cache
def _name(kind: type[Event]) -> bytes:
    return str(kind.__struct_config__.tag).encode()


_encode = msgspec.json.Encoder().encode
_LINE_ENDS: Final = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)
"""Line iterators of common clients split on these, inside JSON too."""


def data_of(event: Event) -> bytes:
    """One event as JSON that no client's line iterator takes apart."""
    data = event.data if isinstance(event, Relayed) else _encode(event)
    for raw, escaped in _LINE_ENDS:
        if raw in data:
            data = data.replace(raw, escaped)
    return data


def frame(event: Event, warnings: Sequence[str] = ()) -> bytes:
    """One event, with these warnings in it. LF only: the reference suite finds no event behind CRLF."""
    name = event.name if isinstance(event, Relayed) else _name(type(event))
    data = data_of(event)
    return b"event: %b\ndata: %b\n\n" % (name, in_event(warnings, data) if warnings else data)


def frames(batch: list[Event], warnings: Sequence[str] = ()) -> bytes:
    """A batch as one piece of bytes, with these warnings in its last event."""
    if not warnings:
        return b"".join([frame(event) for event in batch])
    *others, last = batch
    return b"".join([*[frame(event) for event in others], frame(last, warnings)])


def head(headers: dict[str, str]) -> Message:
    """How a stream begins, as sse-starlette has it."""
    stream = EventSourceResponse(iter(()), headers=headers)
    return {"type": "http.response.start", "status": stream.status_code, "headers": stream.raw_headers}
