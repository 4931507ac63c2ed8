"""Rounds of the event loop, shared fairly among callers: each does a little in every round.

Without it, a caller with hundreds of fast answers would have hundreds of steps in each round, and every step of another
caller's request would wait for all of them. Nothing is lost by it: when all have had their part, the next round begins.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Final, Self
from weakref import WeakKeyDictionary

from .fair_slots import GUEST

START: Final = 8
"""Steps that the beginning of a turn counts as: a request is read and translated."""
STEPS: Final = 16
"""Steps of one caller in one round. Callers with fewer answers are not counted, and neither is one without a name: then
there are no others."""


class CallerSteps:
    """What one caller does, as a context: it counts an answer while it is open. All guests are one caller."""

    __slots__ = ("_rounds", "answers", "done", "owner", "waiting")

    def __init__(self, rounds: "FairRounds", owner: str) -> None:
        self._rounds = rounds
        self.owner = owner
        self.answers = 0
        self.done = 0
        """Steps in this round."""
        self.waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    def __enter__(self) -> Self:
        self.answers += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.answers -= 1
        if not self.answers:
            self._rounds.callers.pop(self.owner, None)

    def must_wait(self, steps: int = 1) -> bool:
        """Whether the next step, or so many, belong to a later round. Otherwise they are counted."""
        if self.answers <= STEPS or not self.owner:
            return False
        if self.done >= STEPS or self.waiting:
            return True
        self.done += steps
        self._rounds.go_on()
        return False

    async def wait(self, steps: int = 1) -> None:
        """Returns in a round that has room for one more step; so many are counted."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((turn, steps))
        self._rounds.go_on()
        await turn


class FairRounds:
    """The steps of all callers on one event loop."""

    def __init__(self) -> None:
        self.callers: dict[str, CallerSteps] = {}
        self._is_scheduled = False

    def of(self, owner: str) -> CallerSteps:
        """The steps of this caller."""
        owner = GUEST if owner.startswith(GUEST) else owner
        if owner not in self.callers:
            self.callers[owner] = CallerSteps(self, owner)
        return self.callers[owner]

    def go_on(self) -> None:
        """Makes sure that there will be another round."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_scheduled = False
        for caller in self.callers.values():
            caller.done = 0
            while caller.waiting and caller.done < STEPS:
                turn, steps = caller.waiting.popleft()
                if not turn.done():  # otherwise it was cancelled
                    turn.set_result(None)
                    caller.done += steps
            if caller.done:
                self.go_on()


_rounds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, FairRounds]] = WeakKeyDictionary()
"""The rounds of each event loop. A server has one loop."""


def steps_of(owner: str) -> CallerSteps:
    """The steps of this caller on the running loop."""
    loop = asyncio.get_running_loop()
    rounds = _rounds.get(loop)
    if rounds is None:
        rounds = _rounds[loop] = FairRounds()
    return rounds.of(owner)


async def wait_to_start(owner: str) -> None:
    """Returns in a round in which this caller may begin one more turn."""
    if not owner:
        return
    with steps_of(owner) as steps:
        if steps.must_wait(START):
            await steps.wait(START)
