"""uvicorn's websocket protocol with limits on small frames and on unfinished messages, and with an orderly end."""

import asyncio
import logging
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.server import ServerProtocol

from ..settings import Server

log = logging.getLogger("am_proxy")

DRAIN: Final = "websocket.drain"
"""The message that the application receives when the server stops, once per connection."""
SHARE: Final = "websocket.share"
"""The name in a connection's state of the share from which its caller's bytes are taken. The application sets it."""
UNCOUNTED: Final = 64 * 1024
"""Bytes of a message that are not counted: most messages are not longer."""
SLICE: Final = 16 * 1024
"""Bytes that are parsed at once, before they are counted: a few thousand frames at most."""
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

    _drop: asyncio.TimerHandle | None = None
    _arrived = 0
    """Bytes since the last complete message."""
    _counted = 0
    """How many of these bytes are taken from the caller's share."""
    _budget: FrameBudget | None = None
    _ended_by_app = False
    """Whether the application has closed the connection."""

    def data_received(self, data: bytes) -> None:
        """Parses received bytes slice by slice, and stops once the connection has exceeded a limit."""
        for start in range(0, len(data), SLICE):
            self._read(data[start : start + SLICE])
            if self.close_sent or self.disconnected:
                return

    def _read(self, data: bytes) -> None:
        """Each byte of a long message is counted until it is complete: until then no slot of a turn limits it."""
        self._arrived += len(data)
        super().data_received(data)
        share = self.scope["state"].get(SHARE) if hasattr(self, "scope") else None
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

    async def send(self, message: Any) -> None:
        """Sends a message. Raises if this guard has closed the connection, which the application may not know yet."""
        if self.handshake_complete and self.close_sent and not self._ended_by_app:
            raise ClientDisconnected
        self._ended_by_app = message["type"] == "websocket.close"
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # uvicorn would report a refusal as a fault of the application

    async def run_asgi(self) -> None:
        """Runs one connection to its end."""
        await super().run_asgi()
        if not self.disconnected:
            self._drop = self.loop.call_later(LINGER, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._release()
        if self._drop is not None:
            self._drop.cancel()
        super().connection_lost(exc)


def is_offer(head: bytes) -> bool:
    """Whether the websocket library accepts this head of a request."""
    handshake = ServerProtocol()
    handshake.receive_data(head)
    return any(
        isinstance(event, Request) and handshake.accept(event).status_code == HTTPStatus.SWITCHING_PROTOCOLS
        for event in handshake.events_received()
    )


def socket_options(server: Server) -> dict[str, Any]:
    """The options of uvicorn for websockets. No compression: it gains little on events that are sent one by one."""
    return {"ws": WebSocketGuard, "ws_max_size": server.max_body_bytes, "ws_per_message_deflate": False}
