"""The body of a model server's answer, read as it arrives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from ..lean_aiohttp import aiohttp
from .connections import LARGE
from .http_failures import failure_of
from .taps import AnswerTap

DRAIN_TIMEOUT: Final = 1
"""Seconds that an answer has to end after its last event."""


class _AnswerPieces:
    """The bytes of a body as they arrive. `body` is told how it ends."""

    __slots__ = ("_body", "_read", "_taps")

    def __init__(self, body: "ResponseBody") -> None:
        self._body = body
        self._read = body.read
        self._taps = body.taps

    def __aiter__(self) -> "_AnswerPieces":
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._read(LARGE)
        except RuntimeError as error:  # aiohttp raises this if no read is waiting when the connection ends
            self._body.failed(lost := aiohttp.ClientPayloadError())
            raise lost from error
        except (aiohttp.ClientError, OSError) as error:
            self._body.failed(error)
            raise
        if not piece:
            self._body.has_ended = True
            raise StopAsyncIteration
        for tap in self._taps:
            tap.piece(piece)
        if len(piece) == LARGE:
            await asyncio.sleep(0)  # more data is waiting: let other tasks run first
        return piece


class ResponseBody:
    """The body of a successful answer, piece by piece. Its owner calls `release`."""

    def __init__(self, response: aiohttp.ClientResponse, draining: set[asyncio.Task[None]]) -> None:
        self._response = response
        self._draining = draining
        self.read: Callable[[int], Awaitable[bytes]] = response.content.read
        """Returns at most so many bytes; none at the end."""
        self.taps: Sequence[AnswerTap] = ()
        """Those that follow it."""
        self.has_ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive. A caller that was cancelled may wait for the next ones once more."""
        return _AnswerPieces(self)

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
        if not complete or self._response.content.at_eof():
            self._response.close()
            return
        task = asyncio.get_running_loop().create_task(self._drain())
        self._draining.add(task)
        task.add_done_callback(self._drained)  # not at the end of the task, which may be cancelled before it began

    async def _drain(self) -> None:
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(DRAIN_TIMEOUT):
                async for _ in self:
                    pass

    def _drained(self, task: asyncio.Task[None]) -> None:
        self._draining.discard(task)
        self._response.close()
