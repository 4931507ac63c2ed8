"""Events -> ready SSE bytes; one send per batch."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Final

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from app.protocol.events import Event, Relayed

DONE: Final = b"data: [DONE]\n\n"
"""The specification wants it; every client ignores it."""


GRACE: Final = 8
"""Seconds that a running stream has to end when the server is told to stop; fewer than the server itself waits."""


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


def frame(event: Event) -> bytes:
    """One event. LF only: the reference suite finds no event behind CRLF."""
    if isinstance(event, Relayed):
        name, data = event.name, event.data
    else:
        name, data = _name(type(event)), _encode(event)
    for raw, escaped in _LINE_ENDS:
        if raw in data:
            data = data.replace(raw, escaped)
    return b"event: %b\ndata: %b\n\n" % (name, data)


async def frames(batches: AsyncIterator[list[Event]]) -> AsyncGenerator[bytes]:
    """Each batch as one piece of bytes, and the end mark behind the last."""
    async for batch in batches:
        yield b"".join([frame(event) for event in batch])
    yield DONE


class EventStream(EventSourceResponse):
    """A stream that closes its turn however it ends, even if it never began.

    The comment ping beside our own signs of life is for load balancers; clients do not count it.
    """

    def __init__(
        self,
        content: AsyncIterator[bytes],
        headers: dict[str, str],
        *,
        ping: float,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            content,
            headers=headers,
            ping=ping,
            sep="\n",
            ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
            shutdown_grace_period=GRACE,
        )
        self._close = close

    async def _stream_response(self, send: Send) -> None:
        """As sse-starlette does it, without a cancel scope and a log line for every piece: they cost more than it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self.body_iterator:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        async with self._send_lock:  # no ping may follow the end
            self.active = False
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._close()
