"""Pauses and resumes the reading of an HTTP connection, and small kinds of what uvicorn keeps for each connection.

An `asyncio.Event` and a `deque` take 0.8 kB each, also while nobody waits and nothing is queued. Thousands of
connections wait for slow models, so they have what is made when it is needed.
"""

import asyncio
from collections.abc import Collection
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl


class ReadingControl(FlowControl):
    """uvicorn's, but reading is not resumed while requests are queued."""

    def __init__(self, transport: asyncio.Transport, queued: Collection[object]) -> None:
        # not uvicorn's own, which makes an event
        self._transport = transport
        self._queued = queued
        self._writable: MessageEvent | None = None
        """Is set when the client reads again. None: nothing has been paused."""
        self.read_paused = self.write_paused = False

    async def drain(self) -> None:
        """Returns when the client reads."""
        if self._writable is not None:
            await self._writable.wait()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        if not self.write_paused:
            self.write_paused = True
            self._writable = MessageEvent()

    def resume_writing(self) -> None:
        """The client reads again, or is gone."""
        if self._writable is not None:
            self._writable.set()
        self.write_paused, self._writable = False, None

    def resume_reading(self) -> None:
        """Continue to read, if nothing is queued."""
        if not self._queued:
            super().resume_reading()


class MessageEvent:
    """What `asyncio.Event` does."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self, *, is_set: bool = False) -> None:
        self._is_set = is_set
        self._waiters: list[asyncio.Future[None]] = []

    def is_set(self) -> bool:
        """Whether nobody has to wait."""
        return self._is_set

    def set(self) -> None:
        """Lets all go on who wait."""
        self._is_set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def clear(self) -> None:
        """Lets those wait who come from now on."""
        self._is_set = False

    async def wait(self) -> None:
        """Returns when it is set."""
        if not self._is_set:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)


class ShortQueue(list[Any]):
    """What uvicorn uses of a `deque`."""

    def appendleft(self, item: Any) -> None:
        """Adds the last one that `pop` returns."""
        self.insert(0, item)
