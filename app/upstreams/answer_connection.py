"""One connection to a model's server: aiohttp's protocol, with what it does not have.

It tells a listener that an answer has changed, so that short pieces of it can be read without waking a task
(`response_body.py`). At its end it notes whether the server can have read the last request (`connections.py`). Its
limit on the server's silence costs one timer, not a new one whenever bytes come, and the parser does not run again
whenever bytes are read.

aiohttp skips interim replies (1xx) one after the other without letting other tasks run. A server that sends many of
them is disconnected.
"""

import asyncio
import http
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from ..lean_aiohttp import HttpProcessingError, ResponseHandler

MOST_INTERIM: Final = 100
"""Interim replies (1xx) before an answer."""

_TCP_INFO: Final = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_ACKNOWLEDGED: Final = 120
"""Offset of the count of acknowledged bytes in Linux's `struct tcp_info`."""


class AnswerConnection(ResponseHandler):
    """One connection, for one request after the other."""

    unread = False
    """Whether no byte of the last request had been acknowledged when the connection ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.listener: Callable[[int], None] | None = None
        """Called when the answer may have changed: with the number of bytes that came, 0 if none did."""
        self._before: int | None = None
        self._interim = 0
        self._silent_at = 0.0
        """When the server will have been silent for too long."""

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        super().data_received(data)
        if data and self.listener is not None:  # without data, the parser only goes on after a pause
            self.listener(len(data))

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 — aiohttp's method
        """Goes on after a pause. aiohttp calls this after every read, and would run its parser each time."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """The head of a reply has come."""
        if self._interim > MOST_INTERIM:
            return  # it arrived together with the last one that was read
        self._interim = self._interim + 1 if data[0].code < http.HTTPStatus.OK else 0
        if self._interim <= MOST_INTERIM:
            super().feed_data(data, size)
            return
        if self.transport is not None:
            self.transport.close()
        self.set_exception(HttpProcessingError(code=data[0].code, message="too many interim replies"))

    def reuse(self) -> None:
        """Another request is about to be written."""
        self._before = _acknowledged(self.transport)

    def eof_received(self) -> None:
        """The server ended the connection."""
        self._note()
        super().eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone."""
        if isinstance(exc, BrokenPipeError):  # written after the server's end
            self._note()
        super().connection_lost(exc)
        if self.listener is not None:
            self.listener(0)

    def _note(self) -> None:
        self.unread = self.unread or (self._before is not None and _acknowledged(self.transport) == self._before)

    def _reschedule_timeout(self) -> None:
        """Moves the limit on the server's silence; the timer may run out earlier, and is set again then."""
        if not self._read_timeout:
            super()._reschedule_timeout()
            return
        self._silent_at = self._loop.time() + self._read_timeout
        if self._read_timeout_handle is None:
            self._read_timeout_handle = self._loop.call_at(self._silent_at, self._on_read_timeout)

    def _on_read_timeout(self) -> None:
        self._read_timeout_handle = None
        if self._loop.time() < self._silent_at:
            self._read_timeout_handle = self._loop.call_at(self._silent_at, self._on_read_timeout)
            return
        super()._on_read_timeout()
        if self.listener is not None:
            self.listener(0)


def _acknowledged(transport: Any) -> int | None:
    """How many of the written bytes the other side has acknowledged, if the system reports it."""
    held = None if transport is None else transport.get_extra_info("socket")
    if held is None or _TCP_INFO is None:
        return None
    try:
        info = held.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _ACKNOWLEDGED + 8)
        return int(struct.unpack_from("Q", info, _ACKNOWLEDGED)[0])
    except (OSError, ValueError, struct.error):
        return None
