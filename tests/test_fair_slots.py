"""Slots that many callers want: one of them never uses all, and who uses fewest is served first."""

import asyncio
from collections import Counter

import pytest

from app.fair_slots import FairSlots


class Crowd:
    """Callers who hold a slot until they are told to let go."""

    def __init__(self, size: int) -> None:
        self.slots = FairSlots(size)
        self.held: Counter[str] = Counter()
        self.tasks: dict[str, list[asyncio.Task[None]]] = {}

    async def come(self, owner: str, times: int) -> None:
        async def hold() -> None:
            async with self.slots.of(owner):
                self.held[owner] += 1
                try:
                    await asyncio.Event().wait()
                finally:
                    self.held[owner] -= 1

        self.tasks.setdefault(owner, []).extend(asyncio.ensure_future(hold()) for _ in range(times))
        await self.settle()

    async def go(self, owner: str, times: int) -> None:
        """The first of them leave, wherever they stand."""
        for _ in range(times):
            self.tasks[owner].pop(0).cancel()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def end(self) -> None:
        tasks = [task for owned in self.tasks.values() for task in owned]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        slots = self.slots
        assert (slots._free, slots._guests, slots._used, slots._waiting) == (slots._size, 0, {}, {})


async def test_each_takes_half_of_what_is_free_and_there_is_one_for_whoever_comes() -> None:
    crowd = Crowd(16)
    for owner in ("a", "b", "c", "d", "e"):
        await crowd.come(owner, 20)
    assert dict(crowd.held) == {"a": 8, "b": 4, "c": 2, "d": 1, "e": 1}
    await crowd.go("a", 3)
    assert dict(crowd.held) == {"a": 5, "b": 4, "c": 2, "d": 2, "e": 2}
    await crowd.end()


async def test_guests_share_a_quarter() -> None:
    crowd = Crowd(16)
    for number in range(9):
        await crowd.come(f"guest:{number}", 5)
    assert sum(crowd.held.values()) == 4
    await crowd.come("key:alice", 20)
    assert crowd.held["key:alice"] == 6
    await crowd.end()


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_everybody_is_served_in_the_end(size: int) -> None:
    slots = FairSlots(size)
    served: list[str] = []

    async def pass_through(owner: str) -> None:
        async with slots.of(owner):
            served.append(owner)
            await asyncio.sleep(0)

    owners = ["a"] * 20 + ["guest:1"] * 20 + ["b"] * 3
    async with asyncio.timeout(5):
        await asyncio.gather(*(pass_through(owner) for owner in owners))
    assert Counter(served) == Counter(owners)
    assert served.index("b") < 6
    assert (slots._free, slots._used, slots._waiting) == (size, {}, {})


async def test_who_leaves_while_being_served_leaves_the_slot_to_the_next() -> None:
    crowd = Crowd(1)
    await crowd.come("a", 3)
    for task in crowd.tasks["a"][:2]:
        task.cancel()  # the first gives its slot to the second, which leaves in the same moment
    await crowd.settle()
    assert crowd.held["a"] == 1
    assert not crowd.tasks["a"][2].done()
    await crowd.end()
