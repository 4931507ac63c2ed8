"""Whether a turn may begin now: how many run at once, what its key may, and whether this server is being stopped.

Theory of operation
-------------------
A turn is admitted before its body is read, and whoever is turned away is told at once: nobody queues, so health is
never behind anybody. The count is our own; pools of connections have no bound, for a turn that waits for another
turn's connection is a turn that waits for another client.

Limits belong to `Key.owner`. Guests, who are as many as somebody cares to invent, share half of all turns at most.
Where there may be several owners, an owner may begin a turn only while it runs fewer than are free (a guest, than are
free for guests): the first takes half of all, the next half of the rest, and whoever comes later still finds one. A
key with a `concurrency` of its own has that many instead.

A server that is told to stop goes through two steps, each begun from outside:

    `leave`   it says that it is not ready, so that load balancers turn elsewhere, and serves on
    `end`     whatever still runs ends with `LEAVING`, and nothing begins any more
"""

import time
from collections.abc import Callable
from typing import Final

from app.off_loop import OWNER
from app.protocol.problems import Problem, ProblemError
from app.settings import Key
from app.turns.quota import Quota
from app.turns.rate_limit import RateLimit, RateLimits

LEAVING: Final = Problem(code="overloaded", message="This server is being stopped.", retry_after=1)
"""What a turn is told that ran when its server ended, and one that came too late."""
PAUSE: Final = 2
"""Seconds after which it may be worth asking a full server again."""


class Slot:
    """One running turn, as it counts against the limits. Whoever takes one gives it back."""

    def __init__(self, limits: "Limits", caller: Key, rate_limit: RateLimit) -> None:
        self._limits = limits
        self.caller = caller
        self.rate_limit = rate_limit
        self.interrupt: Callable[[Problem], None] | None = None
        """How the turn is ended from outside, once it can be."""
        self._held: tuple[Quota, int] | None = None

    def on_end(self, interrupt: Callable[[Problem], None]) -> None:
        """What to call when the server ends; at once if it has."""
        self.interrupt = interrupt
        if self._limits.ended:
            interrupt(LEAVING)

    def hold(self, quota: Quota, size: int) -> None:
        """Counts the bytes of the request as its caller's until `answered`. Raises `ProblemError` for too many."""
        if not quota.take(self.caller, size):
            raise ProblemError(quota.refusal("bytes of requests that wait for their upstreams", size))
        self._held = quota, size

    def answered(self) -> None:
        """The request is held no longer. Once is enough, as below."""
        held, self._held = self._held, None
        if held is not None:
            held[0].give_back(self.caller, held[1])

    def give_back(self) -> None:
        """The turn is over. Once is enough, more often does no harm."""
        self.answered()
        self._limits.give_back(self)


class Limits:
    """Counts turns, and says whether another one may begin."""

    def __init__(self, max_turns: int, clock: Callable[[], float] = time.monotonic, *, shared: bool = False) -> None:
        self.ready = True
        """Whether new clients should come."""
        self.ended = False
        self.slots: set[Slot] = set()
        """Of all turns that run."""
        self._max_turns = max_turns
        self._shared = shared
        """Whether there may be several owners."""
        self._clock = clock
        self._rate_limits = RateLimits(clock)
        self._guests = 0
        """Turns of guests that run."""

    def admit(self, caller: Key) -> Slot:
        """One more turn. Raises `ProblemError` where there may be none, now or for this key."""
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
        OWNER.set(caller.owner)  # what is done for this turn is done in its caller's share
        self._guests += caller.is_guest
        return slot

    def give_back(self, slot: Slot) -> None:
        """A turn is over."""
        if slot in self.slots:
            self.slots.discard(slot)
            self._guests -= slot.caller.is_guest
            self._rate_limits.give_back(slot.caller, slot.rate_limit)

    def headers(self, caller: Key) -> dict[str, str]:
        """What this caller has left, for every answer to it."""
        return self._rate_limits.headers(caller)

    def follow(self, max_turns: int, *, shared: bool) -> None:
        """Other limits hold from now on. Turns that run, and requests of the last minute, count as before."""
        self._max_turns = max_turns
        self._shared = shared

    def leave(self) -> None:
        """The server is told to stop, and serves on for a while."""
        self.ready = False

    def end(self) -> None:
        """The while is over."""
        self.ready = False
        self.ended = True
        for slot in list(self.slots):
            if slot.interrupt is not None:
                slot.interrupt(LEAVING)
