"""Rounds of the event loop: a caller with many answers does a little in each, and others lose nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from app.fair_rounds import START, STEPS, FairRounds, steps_of, wait_to_start
from app.off_loop import OWNER
from tests.support.pump_turns import STOP, Script, pump, says

MANY = 20 * STEPS


class Rounds:
    """Counts what each caller does in each round of the loop."""

    def __init__(self) -> None:
        self.of: list[Counter[str]] = [Counter()]
        self._counting = asyncio.create_task(self._count())

    async def _count(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.of.append(Counter())

    def did(self, caller: str) -> None:
        self.of[-1][caller] += 1

    def most(self, caller: str) -> int:
        return max(counter[caller] for counter in self.of)

    async def stop(self) -> None:
        self._counting.cancel()
        await asyncio.wait({self._counting})


@pytest.fixture
async def rounds() -> AsyncIterator[Rounds]:
    counted = Rounds()
    yield counted
    await counted.stop()


async def work(rounds: Rounds, caller: str, steps: int) -> None:
    """One answer of so many steps, all of them ready."""
    with steps_of(caller) as mine:
        await asyncio.sleep(0)
        for _ in range(steps):
            if mine.must_wait():
                await mine.wait()
            rounds.did(caller)
            await asyncio.sleep(0)


async def test_a_caller_with_many_answers_does_a_little_in_each_round(rounds: Rounds) -> None:
    alice = [asyncio.create_task(work(rounds, "key:alice", 5)) for _ in range(MANY)]
    await asyncio.sleep(0)
    began = len(rounds.of)
    await work(rounds, "key:bob", 20)
    assert len(rounds.of) - began <= 25, "bob waits for nobody"
    await asyncio.gather(*alice)
    assert rounds.most("key:alice") <= 2 * STEPS, "what waited, and what came in this round"
    assert sum(counter["key:alice"] for counter in rounds.of) == 5 * MANY


async def test_a_caller_with_few_answers_and_one_without_a_name_never_wait(rounds: Rounds) -> None:
    for caller, answers in (("key:alice", STEPS), ("", MANY)):
        await asyncio.gather(*(work(rounds, caller, 3) for _ in range(answers)))
        assert rounds.most(caller) == answers


async def test_all_guests_are_one_caller(rounds: Rounds) -> None:
    guests = [f"guest:{number}" for number in range(MANY)]
    await asyncio.gather(*(work(rounds, guest, 2) for guest in guests))
    assert max(sum(counter.values()) for counter in rounds.of) <= 2 * STEPS


async def test_waiting_that_is_cancelled_takes_nobody_s_place_and_nothing_is_kept(rounds: Rounds) -> None:
    tasks = [asyncio.create_task(work(rounds, "key:alice", 50)) for _ in range(MANY)]
    await asyncio.sleep(0.01)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(not task.cancelled() for task in tasks[1::2])
    assert steps_of("key:alice").answers == 0


async def test_few_turns_begin_in_one_round(rounds: Rounds) -> None:
    async def begin() -> None:
        with steps_of("key:alice"):  # the turns that begin and run
            await wait_to_start("key:alice")
            rounds.did("begun")
            await asyncio.sleep(0.05)

    await asyncio.gather(*(begin() for _ in range(MANY)))
    late = [counter["begun"] for counter in rounds.of[5:]]
    assert max(late) <= STEPS // START
    assert sum(counter["begun"] for counter in rounds.of) == MANY


async def test_pumps_of_one_caller_share_its_part_of_a_round(rounds: Rounds) -> None:
    async def answer() -> None:
        OWNER.set("key:alice")
        pumped = pump(Script(*[says("word"), 0.01] * 6, STOP))
        await pumped.open(9)
        async for _ in pumped.batches():
            rounds.did("batch")
        await pumped.close()

    await asyncio.gather(*(answer() for _ in range(MANY)))
    later = [counter["batch"] for counter in rounds.of if counter["batch"]][5:]
    assert max(later) <= 2 * STEPS
    assert len(later) > MANY // STEPS


async def test_callers_that_have_left_are_in_no_table() -> None:
    callers = FairRounds()
    with callers.of("key:alice") as first, callers.of("key:alice") as second:
        assert first is second
        assert first.answers == 2
    assert callers.callers == {}
