"""Slots that many callers share: the owner that uses the fewest is served first, and no owner uses all of them.

An owner may use as many as are free: the first gets half of all, the next half of the rest, and so on, so there is a
slot for the next one. Guests, of which a client can make up any number, share a quarter in the same way.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

GUEST: Final = "guest:"
"""The prefix of owners that are guests: their keys are not configured here."""


class FairSlots:
    """Slots, counted by owner. Owners that neither use a slot nor wait for one are in no table."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free = size
        self._guests = 0
        self._used: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def of(self, owner: str) -> AsyncIterator[None]:
        """Holds one slot while the block runs; waits until there is one for this owner."""
        await self.take(owner)
        try:
            yield
        finally:
            self.give_back(owner)

    async def take(self, owner: str) -> None:
        """Takes one slot, to be given back; waits until there is one for this owner."""
        if owner not in self._waiting and self._may_take(owner):
            self._take(owner)
        else:
            await self._wait(owner)

    def _may_take(self, owner: str) -> bool:
        free = self._free
        if owner.startswith(GUEST):
            free = min(free, max(1, self._size // 4) - self._guests)
        return self._used.get(owner, 0) < free

    def _take(self, owner: str) -> None:
        self._free -= 1
        self._guests += owner.startswith(GUEST)
        self._used[owner] = self._used.get(owner, 0) + 1

    def give_back(self, owner: str) -> None:
        """Frees the slot, and gives it to a waiting owner."""
        self._free += 1
        self._guests -= owner.startswith(GUEST)
        self._used[owner] -= 1
        if not self._used[owner]:
            del self._used[owner]
        self._serve()

    async def _wait(self, owner: str) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back(owner)  # it got the slot in the same moment
            else:
                self._stop_waiting(owner, waiter)
            raise

    def _stop_waiting(self, owner: str, waiter: asyncio.Future[None]) -> None:
        queue = self._waiting.get(owner)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._waiting[owner]

    def _serve(self) -> None:
        """Gives free slots to waiting owners: first to the one that uses fewest, in order of arrival among equals."""
        while allowed := [owner for owner in self._waiting if self._may_take(owner)]:
            owner = min(allowed, key=lambda each: self._used.get(each, 0))
            queue = self._waiting.pop(owner)
            waiter = queue.popleft()
            if queue:
                self._waiting[owner] = queue  # after equal owners
            if not waiter.done():  # it was cancelled in this moment
                self._take(owner)
                waiter.set_result(None)
