"""uvicorn's websocket protocol with limits on small frames and on unfinished messages, and with an orderly end."""

import asyncio
import logging
import time
from asyncio import BaseTransport
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.server import ServerProtocol

from .open_connections import ConnectionPlace

log = logging.getLogger("am_proxy")

DRAIN: Final = "websocket.drain"
"""The message that the application receives when the server stops, once per connection."""
SHARE: Final = "websocket.share"
"""The name in a connection's state of the share from which its caller's bytes are taken. The application sets it."""
UNCOUNTED: Final = 64 * 1024
"""Bytes of a message that are not counted: most messages are not longer."""
SLICE: Final = 16 * 1024
"""Bytes of a long frame that are parsed at once, before they are counted."""
SHORT_SLICE: Final = 2 * 1024
"""The same after a frame that was not longer."""
AT_ONCE: Final = 16
"""Frames of one connection after which other connections have their turn."""
TRY_LATER: Final = 1013
NO_TEXT: Final = 1007
POLICY: Final = 1008
LINGER: Final = 5
"""Seconds in which a client must read the last messages; then its connection is dropped."""

SMALL: Final = 1024
"""Bytes from which on a frame is covered by the limits of bytes."""
BURST: Final = 2000
"""Small frames that may arrive at once."""
RATE: Final = 200
"""Small frames a second that may arrive without end."""


class FrameBudget:
    """The number of small frames, pings and pongs included, that one connection may still send."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = float(BURST)
        self._seen = clock()

    def take(self, size: int) -> bool:
        """Whether one more frame of this size is within the budget."""
        if size >= SMALL:
            return True
        if self._left < 1:
            now = self._clock()
            self._left = min(BURST, (now - self._seen) * RATE)
            self._seen = now
        self._left -= 1
        return self._left >= 0


class WebSocketGuard(WebSocketsSansIOProtocol):
    """Sends the application a message when the server stops, instead of closing, and enforces limits on frames."""

    place: ConnectionPlace | None = None
    """Its place among the connections of this process."""
    _drop: asyncio.TimerHandle | None = None
    _arrived = 0
    """Bytes since the last complete message."""
    _counted = 0
    """How many of these bytes are taken from the caller's share."""
    _budget: FrameBudget | None = None
    _ended_by_app = False
    """Whether the application has closed the connection."""
    _unparsed: bytearray
    _slice = SHORT_SLICE
    _frames = 0
    """Frames since the last turn of other connections."""
    _next: asyncio.Handle | None = None
    """The next parsing."""

    def connection_made(self, transport: BaseTransport) -> None:
        """A connection is there."""
        super().connection_made(transport)
        self._unparsed = bytearray()

    def data_received(self, data: bytes) -> None:
        """Parses received bytes, as far as it is the turn of this connection. More are read when all are parsed."""
        self._unparsed += data
        if self._next is None:
            self._parse()

    def _parse(self) -> None:
        """Parses until many frames have come, or a message is complete: the application takes it first."""
        self._next = None
        self._frames = 0
        if not self._arrived:
            self._slice = SHORT_SLICE
        while self._unparsed and self._frames < AT_ONCE and not self.read_paused:
            before = self._frames
            data = bytes(self._unparsed[: self._slice])
            del self._unparsed[: self._slice]
            self._read(data)
            self._slice = SLICE if self._frames == before else SHORT_SLICE
            if self.disconnected or (self.close_sent and not self._ended_by_app):
                self._unparsed.clear()
                return
        self._go_on()

    def _go_on(self) -> None:
        """Parses what is left, after other connections had their turn."""
        if not self._unparsed:
            if not self.read_paused:
                self.transport.resume_reading()
            return
        self.transport.pause_reading()
        if not self.read_paused and self._next is None:
            self._next = self.loop.call_soon(self._parse)

    def _read(self, data: bytes) -> None:
        """Each byte of a long message is counted until it is complete: until then no slot of a turn limits it."""
        if not hasattr(self, "scope"):
            super().data_received(data)  # the head of the request
            return
        self._arrived += len(data)
        super().data_received(data)
        share = self.scope["state"].get(SHARE)
        if share is None or self._arrived <= max(UNCOUNTED, self._counted):
            return
        if share.take(self._arrived - self._counted):
            self._counted = self._arrived
        else:
            self._refuse(TRY_LATER, "the incomplete messages contain too many bytes")

    def _refuse(self, code: int, reason: str) -> None:
        """Ends a connection that has exceeded a limit."""
        if not self.close_sent and not self.disconnected:
            fields = {"request_id": self.scope["state"].get("request_id"), "closed": code, "reason": reason}
            log.warning("websocket", extra={"fields": fields})
            self.conn.fail(code, reason)
            self.handle_parser_exception()

    def _count(self, size: int) -> None:
        """Counts one more frame."""
        self._frames += 1
        if self._budget is None:
            self._budget = FrameBudget()
        if not self._budget.take(size):
            self._refuse(POLICY, "too many small frames")

    def handle_ping(self) -> None:
        """Counts and answers a ping."""
        self._count(0)
        if not self.close_sent:
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Counts a pong."""
        self._count(0)
        super().handle_pong(event)

    def handle_text(self, event: Frame) -> None:
        """Counts and stores a text frame. The library's parser would keep its data until the next frame."""
        self._count(len(event.data))
        super().handle_text(event)
        event.data = b""

    def handle_bytes(self, event: Frame) -> None:
        """Counts and stores a binary frame, likewise."""
        self._count(len(event.data))
        super().handle_bytes(event)
        event.data = b""

    def handle_cont(self, event: Frame) -> None:
        """Counts and stores a continuation frame, likewise."""
        self._count(len(event.data))
        super().handle_cont(event)
        event.data = b""

    def send_receive_event_to_app(self) -> None:
        """Passes on a complete message as bytes. uvicorn would log one that is not UTF-8 as a fault of the server."""
        if self.curr_msg_data_type == "text":
            data = b"".join(self.frames)
            try:
                data.decode()
            except UnicodeDecodeError:
                self.frames = []
                self._refuse(NO_TEXT, "a text message is not UTF-8")
                return
            self.frames, self.curr_msg_data_type = [data], "bytes"
        super().send_receive_event_to_app()
        self._release()

    def _release(self) -> None:
        if self._counted:
            self.scope["state"][SHARE].give_back(self._counted)
        self._arrived = self._counted = 0

    def shutdown(self) -> None:
        """Sends the application `DRAIN` instead of closing an open connection."""
        if self.handshake_complete and not self.close_sent:
            message: Any = {"type": DRAIN}
            self.queue.put_nowait(message)
        else:
            super().shutdown()

    async def receive(self) -> Any:
        """The next message. Other connections have their turn before it."""
        await asyncio.sleep(0)
        message = await super().receive()
        if self._unparsed:
            self._go_on()
        return message

    async def send(self, message: Any) -> None:
        """Sends a message. Raises if this guard has closed the connection, which the application may not know yet."""
        if self.handshake_complete and self.close_sent and not self._ended_by_app:
            raise ClientDisconnected
        self._ended_by_app = message["type"] == "websocket.close"
        if message["type"] == "websocket.accept" and self.place is not None:
            self.place.vouch()
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # uvicorn would report a refusal as a fault of the application
        if self._ended_by_app:
            self._go_on()

    async def run_asgi(self) -> None:
        """Runs one connection to its end."""
        await super().run_asgi()
        if not self.disconnected:
            self._drop = self.loop.call_later(LINGER, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        if self.place is not None:
            self.place.leave()
        self._release()
        self._unparsed.clear()
        if self._next is not None:
            self._next.cancel()
        if self._drop is not None:
            self._drop.cancel()
        super().connection_lost(exc)


def accepts(head: bytes) -> bool:
    """Whether the websocket library accepts this head of a request."""
    handshake = ServerProtocol()
    handshake.receive_data(head)
    return any(
        isinstance(event, Request) and handshake.accept(event).status_code == HTTPStatus.SWITCHING_PROTOCOLS
        for event in handshake.events_received()
    )
