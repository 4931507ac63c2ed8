"""A few slots that many callers want: whoever uses fewest is served first, and nobody uses up all of them.

An owner may use as many as are free, and so the first one half of all, the next one half of the rest, and so on: there
is a slot for whoever comes. Owners whose key is none of ours, whom anybody can invent, share a quarter in the same way.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

GUEST: Final = "guest:"
"""What the owners begin with whose key is none of ours."""


class FairSlots:
    """Counted by owner. An owner is in no table who neither uses a slot nor waits for one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free = size
        self._guests = 0
        self._used: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def of(self, owner: str) -> AsyncIterator[None]:
        """One slot, for as long as the block runs; waits until there is one for this owner."""
        await self.take(owner)
        try:
            yield
        finally:
            self.give_back(owner)

    async def take(self, owner: str) -> None:
        """One slot, which is to be given back; waits until there is one for this owner."""
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
        """The slot is free."""
        self._free += 1
        self._guests -= owner.startswith(GUEST)
        self._used[owner] -= 1
        if not self._used[owner]:
            del self._used[owner]
        self._serve()

    async def _wait(self, owner: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(owner)  # it was served in the same moment
            else:
                self._leave(owner, turn)
            raise

    def _leave(self, owner: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(owner)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[owner]

    def _serve(self) -> None:
        """Give what is free to those who wait: to the owner who uses fewest, one after the other among equals."""
        while willing := [owner for owner in self._waiting if self._may_take(owner)]:
            owner = min(willing, key=lambda each: self._used.get(each, 0))
            queue = self._waiting.pop(owner)
            turn = queue.popleft()
            if queue:
                self._waiting[owner] = queue  # behind its equals
            if not turn.done():  # it was cancelled in this moment
                self._take(owner)
                turn.set_result(None)
