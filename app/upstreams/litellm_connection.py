"""One connection of litellm's: aiohttp's protocol, with what it does not have.

At its end it notes whether the server can have read the last request (`http_client/http_pool.py`). Its limit on the
server's silence costs one timer, not a new one whenever bytes come, and the parser does not run again whenever bytes
are read.

aiohttp skips interim replies (1xx) one after the other without letting other tasks run. A server that sends many of
them is disconnected.
"""

import asyncio
import http
from typing import Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from ..http_client.http_connection import MOST_INTERIM
from ..http_client.socket_state import acknowledged


class AnswerConnection(ResponseHandler):
    """One connection, for one request after the other."""

    unread = False
    """Whether no byte of the last request had been acknowledged when the connection ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._before: int | None = None
        self._interim = 0
        self._silent_at = 0.0
        """When the server will have been silent for too long."""

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
        self._before = acknowledged(self.transport)

    def eof_received(self) -> None:
        """The server ended the connection."""
        self._note()
        super().eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone."""
        if isinstance(exc, BrokenPipeError):  # written after the server's end
            self._note()
        super().connection_lost(exc)

    def _note(self) -> None:
        self.unread = self.unread or (self._before is not None and acknowledged(self.transport) == self._before)

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
