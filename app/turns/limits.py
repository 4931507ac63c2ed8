"""Whether a turn may begin now: how many run at once, the limits of its key, and whether this server is stopping.

Theory of operation
-------------------
A turn is admitted before its body is read, and one too many is refused at once: there is no queue. The turns are
counted here; pools of connections have no limit, so that no client waits for the connection of another one.

Limits belong to `Key.owner`. Anyone can invent guests, so all guests together have at most half of all turns. Where
there may be several owners, an owner may begin a turn only while it runs fewer than are free (a guest: than are free
for guests): the first owner gets half of all, the next half of the rest, and there is still a free one for the next. A
key with a `concurrency` of its own has that many instead.

A server stops in two steps:

    `leave`   it reports that it is not ready, so that load balancers choose another, and goes on serving
    `end`     turns that still run end with `LEAVING`, and none begins any more
"""

import time
from collections.abc import Callable
from typing import Final

from ..off_loop import OWNER
from ..protocol.problems import Problem, ProblemError
from ..settings import Key
from .quota import Quota
from .rate_limit import RateLimit, RateLimits

LEAVING: Final = Problem(code="overloaded", message="This server is being stopped.", retry_after=1)
"""The problem of a turn that the end of the server interrupted, or that arrived after it."""
PAUSE: Final = 2
"""Seconds after which it may be worth asking a full server again."""


class Slot:
    """One running turn, as it counts against the limits."""

    def __init__(self, limits: "Limits", caller: Key, rate_limit: RateLimit) -> None:
        self._limits = limits
        self.caller = caller
        self.rate_limit = rate_limit
        self.interrupt: Callable[[Problem], None] | None = None
        """Interrupts the turn, once it has begun."""
        self._held: tuple[Quota, int] | None = None

    def on_end(self, interrupt: Callable[[Problem], None]) -> None:
        """Sets what interrupts the turn when the server ends; calls it at once if the server has ended."""
        self.interrupt = interrupt
        if self._limits.ended:
            interrupt(LEAVING)

    def hold(self, quota: Quota, size: int) -> None:
        """Counts the bytes of the request as its caller's until `answered`. Raises `ProblemError` for too many."""
        if not quota.take(self.caller, size):
            raise ProblemError(quota.refusal("bytes of requests that wait for their upstreams", size))
        self._held = quota, size

    def answered(self) -> None:
        """The request is no longer held. Calling it again does nothing."""
        held, self._held = self._held, None
        if held is not None:
            held[0].give_back(self.caller, held[1])

    def give_back(self) -> None:
        """The turn is over. Calling it again does nothing."""
        self.answered()
        self._limits.give_back(self)


class Limits:
    """Counts turns, and decides whether another one may begin."""

    def __init__(self, max_turns: int, clock: Callable[[], float] = time.monotonic, *, shared: bool = False) -> None:
        self.ready = True
        """Whether new clients should come."""
        self.ended = False
        self.slots: set[Slot] = set()
        """The slots of all turns that run."""
        self._max_turns = max_turns
        self._shared = shared
        """Whether there may be several owners."""
        self._rate_limits = RateLimits(clock)
        self._guests = 0
        """Turns of guests that run."""

    def admit(self, caller: Key) -> Slot:
        """A slot for one more turn. Raises `ProblemError` if there is none, or none for this key."""
        if self.ended:
            raise ProblemError(LEAVING)
        free = self._max_turns - len(self.slots)
        if free <= 0:
            words = f"This server runs {self._max_turns} turns at once, and no more."
            raise ProblemError(Problem(code="overloaded", message=words, retry_after=PAUSE))
        most = max(1, self._max_turns // 2)
        if caller.is_guest and self._guests >= most:
            words = f"This server runs {most} turns at once for callers without a key of its own, and no more."
            raise ProblemError(Problem(code="overloaded", message=words, retry_after=PAUSE))
        rate_limit = self._rate_limits.of(caller)
        if caller.is_guest:
            free = min(free, most - self._guests)
        if self._shared and caller.owner and caller.concurrency is None and rate_limit.running >= free:
            words = f"This caller runs {rate_limit.running} turns at once; what is free is for others."
            raise ProblemError(Problem(code="rate_limit_exceeded", message=words, retry_after=PAUSE))
        rate_limit.take(caller)
        slot = Slot(self, caller, rate_limit)
        self.slots.add(slot)
        OWNER.set(caller.owner)  # work for this turn takes threads from its caller's share
        self._guests += caller.is_guest
        return slot

    def give_back(self, slot: Slot) -> None:
        """The turn of this slot is over."""
        if slot in self.slots:
            self.slots.discard(slot)
            self._guests -= slot.caller.is_guest
            self._rate_limits.give_back(slot.caller, slot.rate_limit)

    def headers(self, caller: Key) -> dict[str, str]:
        """What this caller has left, as headers for every answer to it."""
        return self._rate_limits.headers(caller)

    def follow(self, max_turns: int, *, shared: bool) -> None:
        """Changes the limits. Running turns, and requests of the last minute, still count."""
        self._max_turns = max_turns
        self._shared = shared

    def leave(self) -> None:
        """The server is about to stop, and goes on serving for a while."""
        self.ready = False

    def end(self) -> None:
        """The server ends: turns that still run are interrupted."""
        self.ready = False
        self.ended = True
        for slot in list(self.slots):
            if slot.interrupt is not None:
                slot.interrupt(LEAVING)
