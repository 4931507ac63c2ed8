"""Events -> ready SSE bytes; one send per batch."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

import msgspec
from sse_starlette import EventSourceResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.protocol.events import Event, Relayed
from app.transports.body import ClientGoneError
from app.transports.presence import WhileThere

DONE: Final = b"data: [DONE]\n\n"
"""The specification wants it; every client ignores it."""


AFTERWARDS: Final = "am_proxy_streams"
"""Where in a request's state its stream waits for all that led to it to return."""


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


def frame(event: Event) -> bytes:
    """One event. LF only: the reference suite finds no event behind CRLF."""
    name = event.name if isinstance(event, Relayed) else _name(type(event))
    return b"event: %b\ndata: %b\n\n" % (name, data_of(event))


async def frames(batches: AsyncIterator[list[Event]]) -> AsyncGenerator[bytes]:
    """Each batch as one piece of bytes, and the end mark behind the last."""
    async for batch in batches:
        yield b"".join([frame(event) for event in batch])
    yield DONE


class EventStream(EventSourceResponse):
    """A stream that closes its turn however it ends, even if it never began.

    sse-starlette sets it up; it runs without its tasks, and not in the place where it was made but where its request
    came in (`afterwards`), when all that led to it has returned: what a stream holds, it holds while its model thinks.
    """

    def __init__(
        self, content: AsyncIterator[bytes], headers: dict[str, str], *, close: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(content, headers=headers)
        self._pieces = content
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Nothing may be awaited between this and `afterwards`: what is not begun is not closed."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        scope["state"][AFTERWARDS].append(_Stream(start, self._pieces, self._close, receive, send))


class _Stream(NamedTuple):
    """What a stream needs while it runs."""

    start: Message
    pieces: AsyncIterable[bytes]
    close: Callable[[], Awaitable[None]]
    receive: Receive
    send: Send

    async def run(self) -> None:
        send = self.send
        try:
            with suppress(ClientGoneError):
                async with WhileThere(self.receive):
                    await send(self.start)
                    async for piece in self.pieces:
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self.close()


async def afterwards(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the application answer, and run here the stream that it may have made."""
    streams: list[_Stream] = []
    scope.setdefault("state", {})[AFTERWARDS] = streams
    await app(dict(scope), receive, send)  # a copy: what the application writes down there is not kept either
    for stream in streams:
        await stream.run()
