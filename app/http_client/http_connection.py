"""One connection to a model's server: requests written, answers parsed by httptools, silence limited.

Theory of operation
-------------------
A connection carries one request at a time. What it receives goes to `HttpAnswer`, until that has ended; then the
connection is given back to its pool by `finished`. Anything that comes without a request ends the connection.

What a server may send is bounded: the answer's buffer by not reading on, a head and trailers by `MOST_HEAD`, interim
replies (1xx) by `MOST_INTERIM`, and its silence by one timer, which is set again when it runs out too early: a new
timer for every chunk would cost as much as the chunk. Bytes of a body and complete heads end a silence, pieces of a
head do not. No time is counted while the client is too slow to read.

At its end, a connection notes whether the server can have read the last request (`http_pool.py`).
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from .connection_errors import LostError, NotHttpError
from .http_answer import HttpAnswer
from .socket_state import acknowledged, is_quiet

LARGE: Final = 64 * 1024
"""Bytes above which a body is written in pieces, with a turn of the event loop in between."""
MOST_HEAD: Final = 64 * 1024
"""Bytes that may come without a byte of a body."""
MOST_INTERIM: Final = 100
"""Interim replies (1xx) before an answer."""
_OK: Final = 200


class _UnaskedError(Exception):
    """An answer without a request."""


class HttpConnection(asyncio.Protocol):
    """One connection, for one request after the other."""

    __slots__ = (
        *("_answer", "_before", "_bodiless", "_finished", "_headers", "_interim", "_keeps", "_loop", "_may_write"),
        *("_parser", "_paused", "_silence", "_silent_at", "_timer", "_transport", "_until_end", "_writing"),
        *("ready_at", "unread"),
    )

    def __init__(
        self, loop: asyncio.AbstractEventLoop, silence: float, finished: Callable[["HttpConnection", bool], None]
    ) -> None:
        """`finished` is told when the connection can take a request again, or is gone (False)."""
        self.unread = False
        """Whether no byte of the last request had been acknowledged when the connection ended."""
        self.ready_at = 0.0
        """When the pool may use it again."""
        self._loop = loop
        self._silence = silence
        self._silent_at = 0.0
        """When the server will have been silent for too long."""
        self._timer: asyncio.TimerHandle | None = None
        self._finished = finished
        self._transport: Any = None
        self._parser: Any = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._answer: HttpAnswer | None = None
        self._headers: dict[str, str] = {}
        self._interim = 0
        self._bodiless = 0
        """Bytes that came since the last of a body."""
        self._keeps = False
        self._until_end = False
        """Whether the answer ends with the connection."""
        self._paused = False
        self._may_write: asyncio.Future[None] | None = None
        """Is awaited while the system takes no more."""
        self._writing: asyncio.Task[None] | None = None
        """Writes a large body."""
        self._before: int | None = None

    @property
    def is_connected(self) -> bool:
        """Whether it is open, as far as the event loop has heard."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_open(self) -> bool:
        """Whether it can take a request. Its socket is looked at."""
        return self.is_connected and is_quiet(self._transport)

    async def ask(self, head: bytes, body: bytes, *, reused: bool) -> HttpAnswer:
        """Writes a request; returns when the head of its answer is there. Raises `LostError` or why there is none."""
        if self._transport is None or self._transport.is_closing():
            raise LostError
        self._before = acknowledged(self._transport) if reused else None
        answer = self._answer = HttpAnswer(self)
        self._silent_at = self._loop.time() + self._silence
        if self._timer is None and self._silence:
            self._timer = self._loop.call_at(self._silent_at, self._is_silent)
        try:
            if len(body) <= LARGE:
                self._transport.write(head + body)
            else:
                self._writing = self._loop.create_task(self._write(head, body))
            await answer.head()
        except BaseException:
            answer.close()
            self.abort()
            raise
        return answer

    def abort(self) -> None:
        """Ends the connection at once, also if the server reads nothing."""
        self._answer = None
        if self._writing is not None:
            self._writing.cancel()
        if self._transport is not None:
            self._transport.abort()

    def lose(self) -> None:
        """Ends it at once. Whoever reads an answer is told that it broke off."""
        self._fail(LostError())

    def pause(self) -> None:
        """Reads no more for now."""
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Reads on."""
        if self._paused:
            self._paused = False
            self._silent_at = self._loop.time() + self._silence
            if self._transport is not None:
                self._transport.resume_reading()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        answer = self._answer
        if answer is None:
            self.abort()
            return
        if answer.has_head:  # pieces of a head do not prolong the time for it
            self._silent_at = self._loop.time() + self._silence
        self._bodiless += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail(NotHttpError())
        else:
            if self._bodiless > MOST_HEAD:
                self._fail(NotHttpError())
        answer.changed(len(data))  # also if what is wrong came after its end

    def eof_received(self) -> None:
        """The server ended the connection."""
        self._note()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        if isinstance(exc, BrokenPipeError):  # written after the server's end
            self._note()
        answer = self._answer
        if answer is not None and answer.has_head and self._until_end and exc is None:
            self._answer = None
            answer.ends()
            answer.changed(0)
        else:
            self._fail(LostError())
        self._transport = None
        self.resume_writing()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._parser = None  # it calls this connection, which would wait for the garbage collector
        self._finished(self, False)  # noqa: FBT003 — a plain callback

    def pause_writing(self) -> None:
        """The system takes no more."""
        self._may_write = self._loop.create_future()

    def resume_writing(self) -> None:
        """It takes more, or the connection is gone."""
        if self._may_write is not None:
            if not self._may_write.done():
                self._may_write.set_result(None)
            self._may_write = None

    # What the parser calls.

    def on_message_begin(self) -> None:
        """A head begins."""
        if self._answer is None:
            raise _UnaskedError
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if self._answer is not None and not self._answer.has_head:  # otherwise it is one of the trailers
            key, text = name.decode("latin-1").lower(), value.decode("utf-8", "surrogateescape")
            if key == "transfer-encoding":  # the last one says how the body ends
                self._headers[key] = text
            else:
                self._headers.setdefault(key, text)

    def on_headers_complete(self) -> None:
        """A head is there."""
        status = self._parser.get_status_code()
        if self._answer is None:
            raise _UnaskedError
        self._silent_at = self._loop.time() + self._silence
        if status < _OK:
            self._interim += 1
            if self._interim > MOST_INTERIM:
                raise _UnaskedError
            return
        self._interim = 0
        self._keeps = self._parser.should_keep_alive()
        is_chunked = self._headers.get("transfer-encoding", "").rpartition(",")[2].strip().lower() == "chunked"
        self._until_end = not is_chunked and "content-length" not in self._headers
        self._answer.begins(status, self._headers)

    def on_body(self, body: bytes) -> None:
        """A piece of a body. That of an interim reply is left out, and counts as a part of the head."""
        if self._answer is not None and self._answer.has_head:
            self._bodiless = 0
            self._answer.add(body)

    def on_message_complete(self) -> None:
        """An answer has ended, or an interim reply."""
        answer = self._answer
        if answer is None or not answer.has_head:
            return
        self._answer = None
        self._bodiless = 0
        is_written = self._writing is None or self._writing.done()
        self._writing = None if is_written else self._writing
        answer.ends()
        if not (self._keeps and is_written) or self._transport is None or self._transport.is_closing():
            self.abort()
            return
        self.resume()
        self._finished(self, True)  # noqa: FBT003 — as above

    async def _write(self, head: bytes, body: bytes) -> None:
        """Writes a large body piece by piece, without copies of the whole."""
        self._transport.write(head)
        view = memoryview(body)
        for start in range(0, len(view), LARGE):
            if self._transport is None:
                return
            self._transport.write(view[start : start + LARGE])
            self._silent_at = self._loop.time() + self._silence
            await (asyncio.sleep(0) if self._may_write is None else self._may_write)

    def _fail(self, error: Exception) -> None:
        answer = self._answer
        self.abort()
        if answer is not None:
            answer.fails(error)

    def _note(self) -> None:
        self.unread = self.unread or (self._before is not None and acknowledged(self._transport) == self._before)

    def _is_silent(self) -> None:
        """The time is over, unless something came meanwhile, or nobody reads."""
        self._timer = None
        if self._answer is None:
            return
        now = self._loop.time()
        if self._paused:
            self._silent_at = now + self._silence
        if now < self._silent_at:
            self._timer = self._loop.call_at(self._silent_at, self._is_silent)
        else:
            self._fail(TimeoutError())
