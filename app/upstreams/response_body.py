"""The body of a model server's answer, read as it arrives.

To wake the task that waits for a chunk costs as much as to translate it. So a short piece can be read at once instead,
where it was received, and offered to what is given as `take`. The task is woken if it is not taken, and for all else:
long pieces, the end of the answer, and errors.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from ..http_client.http_answer import HttpAnswer
from ..http_client.http_connection import LARGE
from .http_failures import TROUBLE, failure_of
from .payload_sink import Take
from .taps import AnswerTap

SHORT: Final = 4096
"""Bytes that are received at once, up to which they are offered: more are many chunks, or a long one."""
DRAIN_TIMEOUT: Final = 1
"""Seconds that an answer has to end after its last event."""


class _AnswerPieces:
    """The bytes of a body as they arrive. `body` is told how it ends.

    What was taken does not come, or as an empty piece if the task must go on.
    """

    __slots__ = ("_answer", "_body", "_read", "_take", "_taps", "_untaken", "_waiter")

    def __init__(self, body: "ResponseBody", take: Take | None = None) -> None:
        self._body = body
        self._read = body.read
        self._taps = body.taps
        self._take = take
        self._answer = None if take is None else body.answer
        self._waiter: asyncio.Future[bool] | None = None
        """Its result: whether an empty piece is to come, because the task must go on."""
        self._untaken = b""
        """Was offered, and is the next piece."""

    def __aiter__(self) -> "_AnswerPieces":
        return self

    async def __anext__(self) -> bytes:
        try:
            if self._answer is None:
                piece = self._told(await self._read(LARGE)) or None
            else:
                piece = await self._next(self._answer)
        except TROUBLE as error:
            self._body.failed(error)
            raise
        if piece is None:
            self._body.has_ended = True
            raise StopAsyncIteration
        if len(piece) == LARGE:
            await asyncio.sleep(0)  # more data is waiting: let other tasks run first
        return piece

    async def _next(self, answer: HttpAnswer) -> bytes | None:
        """The next piece that is not taken; None at the end."""
        while True:
            if piece := self._untaken or self._told(answer.read_nowait(LARGE)):
                self._untaken = b""
                return piece
            if answer.is_complete:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            answer.listener = self._changed
            try:
                must_go_on = await self._waiter
            finally:
                answer.listener = self._waiter = None  # the waiter may hold an error that holds this
            if must_go_on:
                return b""

    def _changed(self, received: int) -> None:
        """So many bytes were received, or the answer has ended or failed."""
        waiter, answer = self._waiter, self._answer
        if waiter is None or waiter.done() or answer is None:
            return
        if not received or received > SHORT or self._take is None:
            waiter.set_result(False)
            return
        try:
            if not (piece := answer.read_nowait(LARGE)):
                if answer.is_complete:
                    waiter.set_result(False)
                return
            for tap in self._taps:
                tap.piece(piece)
            goes_on = self._take(piece)
        except Exception as error:  # noqa: BLE001 — the task raises it
            waiter.set_exception(error)
            return
        if goes_on is None:
            self._untaken = piece  # not the waiter's result, which is lost if the task is cancelled now
            waiter.set_result(False)
        elif goes_on or answer.is_complete:
            waiter.set_result(True)

    def _told(self, piece: bytes) -> bytes:
        """The same piece. Those that follow the answer know it then."""
        if piece:
            for tap in self._taps:
                tap.piece(piece)
        return piece


class ResponseBody:
    """The body of a successful answer, piece by piece. Its owner calls `release`."""

    def __init__(self, answer: HttpAnswer, draining: set[asyncio.Task[None]]) -> None:
        self.answer = answer
        self._draining = draining
        self.read: Callable[[int], Awaitable[bytes]] = answer.read
        """Returns at most so many bytes; none at the end."""
        self.taps: Sequence[AnswerTap] = ()
        """Those that follow it."""
        self.has_ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive. A caller that was cancelled may wait for the next ones once more."""
        return _AnswerPieces(self)

    def pieces(self, take: Take | None) -> AsyncIterator[bytes]:
        """The same. A short piece is first offered to `take`, where it is received."""
        return _AnswerPieces(self, take)

    def failed(self, error: Exception) -> None:
        """The connection has failed."""
        self.has_ended = True
        for tap in self.taps:
            tap.failed(failure_of(error))

    def release(self, *, complete: bool) -> None:
        """Ends reading. `complete`: the last event was read, and the end of the body is near."""
        if not self.has_ended:
            for tap in self.taps:
                tap.closed()
        self.taps = ()
        self._end(complete=complete)

    def _end(self, *, complete: bool) -> None:
        if not complete or self.answer.at_end:
            self.answer.close()
            return
        task = asyncio.get_running_loop().create_task(self._drain())
        self._draining.add(task)
        task.add_done_callback(self._drained)  # not at the end of the task, which may be cancelled before it began

    async def _drain(self) -> None:
        with suppress(*TROUBLE):
            async with asyncio.timeout(DRAIN_TIMEOUT):
                async for _ in self:
                    pass

    def _drained(self, task: asyncio.Task[None]) -> None:
        self._draining.discard(task)
        self.answer.close()
