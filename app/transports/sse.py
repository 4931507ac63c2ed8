"""Events as server-sent events; a batch is sent at once, unless it is long."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from sse_starlette import EventSourceResponse
from starlette.types import Message

from ..emitter.encoded_size import LONG, size_of
from ..off_loop import off_loop
from ..protocol.events import Event, LastEvent, Relayed, RelayedLast
from ..protocol.warnings import ClientWarning
from ..turns.warning_output import in_event

DONE: Final = b"data: [DONE]\n\n"
"""The end of a stream. The specification requires it; every client ignores it."""

Encoded = TypeVar("Encoded")


@cache
def _name(kind: type[Event]) -> bytes:
    return str(kind.__struct_config__.tag).encode()


_encode = msgspec.json.Encoder().encode
_LINE_ENDS: Final = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
    ("\u0085".encode(), b"\\u0085"),
)
"""Common clients split lines at these characters, inside JSON too."""


def data_of(event: Event) -> bytes:
    """One event as JSON that no client's line iterator splits."""
    return escaped(event.data if isinstance(event, Relayed) else _encode(event))


def escaped(data: bytes) -> bytes:
    """JSON without the characters at which clients split lines."""
    if data.isascii():  # a search for each of them takes ten times as long
        return data
    for raw, escaped in _LINE_ENDS:
        if raw in data:
            data = data.replace(raw, escaped)
    return data


def frame(event: Event, warnings: Sequence[ClientWarning] = ()) -> bytes:
    """One event, with these warnings in it. LF only: the reference test suite finds no event after CRLF."""
    name = event.name if isinstance(event, Relayed) else _name(type(event))
    data = event.data if isinstance(event, Relayed) else _encode(event)
    if not data.isascii():
        data = escaped(data)
    return b"event: %b\ndata: %b\n\n" % (name, in_event(warnings, data) if warnings else data)


def frames(batch: list[Event], warnings: Sequence[ClientWarning] = ()) -> bytes:
    """A batch as one string of bytes, with these warnings in its last event."""
    if len(batch) == 1:
        return frame(batch[0], warnings)
    if not warnings:
        return b"".join([frame(event) for event in batch])
    *others, last = batch
    return b"".join([*[frame(event) for event in others], frame(last, warnings)])


def is_short(batch: Sequence[Event], echoed: int) -> bool:
    """Whether a batch can be encoded at once without delaying other turns. `echoed`: bytes of its request."""
    if len(batch) == 1:
        return size_of(batch[0], echoed) <= LONG
    return sum([size_of(event, echoed) for event in batch]) <= LONG


async def send_one_by_one(
    batch: Sequence[Event], warnings: Sequence[ClientWarning], echoed: int, send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Sends the events of a long batch, each encoded after the one before it was sent."""
    for event in batch:
        await send(await encode_one(event, echoed, frame, warnings if event is batch[-1] else ()))


async def encode_one(event: Event, echoed: int, encode: Callable[..., Encoded], *args: Any) -> Encoded:
    """One event of a long batch, encoded by `encode`: in a thread if it is long. Other turns run meanwhile."""
    size = size_of(event, echoed)
    if size > LONG:
        return await off_loop(size, encode, event, *args)
    await asyncio.sleep(0)
    return encode(event, *args)


def checked_last(last: Event | None) -> LastEvent | RelayedLast:
    """The last event that was sent. Raises `TypeError` if it is not one that ends a turn."""
    if isinstance(last, LastEvent | RelayedLast):
        return last
    raise TypeError(f"a turn ended with {type(last).__name__}")


def head(headers: dict[str, str]) -> Message:
    """The first message of a stream, with the headers of sse-starlette."""
    stream = EventSourceResponse(iter(()), headers=headers)
    return {"type": "http.response.start", "status": stream.status_code, "headers": stream.raw_headers}
