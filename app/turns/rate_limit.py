"""Rate limits: how often, and how many times at once, one caller may ask, as far as this process knows.

Callers are distinguished by `Key.owner`, never by the name in the log, which guests share. The counts outlive a reload
of the settings; the limits are those of the key of the request.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ..protocol.problems import Problem, ProblemError
from ..settings import Key

MINUTE: Final = 60
MOST_GUESTS: Final = 10_000
"""Guests that are remembered, as anyone can invent another. Of more, the one that was idle longest is forgotten."""


class RateLimit:
    """What one caller has used. A minute's requests may come all at once; they are restored one by one, evenly."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._spent = 0.0
        """Requests of the last minute that have not been restored yet."""
        self._seen = clock()
        self.running = 0
        self._heard = 0
        """The connection to the store of limits on which it was heard last how much is used; 0: it never was."""

    def headers(self, key: Key) -> dict[str, str]:
        """What is left, in OpenAI's headers. Empty for a key without a limit."""
        most = key.requests_per_minute
        if most is None:
            return {}
        left = self._left(most)
        return {
            "x-ratelimit-limit-requests": str(most),
            "x-ratelimit-remaining-requests": str(int(left)),
            "x-ratelimit-reset-requests": _spelled((most - left) * MINUTE / most),
        }

    def take(self, key: Key) -> None:
        """One request begins. Raises `ProblemError` if it is one too many; it is not counted then."""
        if key.concurrency is not None and self._running_in_all() >= key.concurrency:
            raise too_many(key)
        if key.requests_per_minute is not None:
            left = self._left(key.requests_per_minute)
            if left < 1:
                raise too_often(key, (1 - left) * MINUTE / key.requests_per_minute)
            self._spent += 1
        self.running += 1

    def unheard(self, key: Key, connection: int) -> float:
        """Requests of the last minute that the store of limits may not know, on this connection to it."""
        if key.requests_per_minute is None or self._heard == connection:
            return 0
        self._left(key.requests_per_minute)
        return self._spent

    def hear(self, used: float, connection: int) -> None:
        """Takes over how much is used by what the store says."""
        self._spent = used
        self._seen = self._clock()
        self._heard = connection

    def give_back(self) -> None:
        """One request has ended."""
        self.running -= 1

    def _running_in_all(self) -> int:
        """Turns of this caller that run, also in other workers."""
        return self.running

    @property
    def is_unused(self) -> bool:
        """Whether forgetting it changes nothing."""
        return not self.running and not self._spent

    def _left(self, most: int) -> float:
        now = self._clock()
        self._spent = max(0.0, min(most, self._spent) - (now - self._seen) * most / MINUTE)
        self._seen = now
        return most - self._spent


class RateLimits:
    """The rate limits of all callers. Configured keys are few; the number of guests is limited here."""

    def __init__(self, clock: Callable[[], float], made: Callable[[Key], RateLimit] | None = None) -> None:
        """`made` makes the rate limit of a caller; by default it counts for this process."""
        self._clock = clock
        self._made = made or (lambda _: RateLimit(clock))
        self._keys: dict[str, RateLimit] = {}
        self._guests: OrderedDict[str, RateLimit] = OrderedDict()

    def of(self, caller: Key) -> RateLimit:
        """The rate limit of one caller, remembered from now on."""
        if caller.own is None:
            if (known := self._keys.get(caller.owner)) is None:
                known = self._keys[caller.owner] = self._made(caller)
            return known
        owner = caller.owner
        rate_limit = self._guests.get(owner)
        if rate_limit is None:
            rate_limit = self._guests[owner] = self._made(caller)
            if len(self._guests) > MOST_GUESTS:
                self._forget_one()
        self._guests.move_to_end(owner)
        return rate_limit

    def headers(self, caller: Key) -> dict[str, str]:
        """What this caller has left, as headers. Nothing is remembered for that."""
        if caller.requests_per_minute is None:
            return {}
        rate_limit = (self._keys if caller.own is None else self._guests).get(caller.owner)
        return (rate_limit or self._made(caller)).headers(caller)

    def give_back(self, caller: Key, rate_limit: RateLimit) -> None:
        """One request of this caller has ended. A caller that has used nothing is forgotten."""
        rate_limit.give_back()
        table = self._keys if caller.own is None else self._guests
        if rate_limit.is_unused and table.get(caller.owner) is rate_limit:
            del table[caller.owner]

    def _forget_one(self) -> None:
        for owner, rate_limit in self._guests.items():
            if not rate_limit.running:
                del self._guests[owner]
                return


def too_many(key: Key) -> ProblemError:
    """The refusal of a turn beyond the `concurrency` of this key."""
    return _refused(f"This key may run {key.concurrency} requests at once, and does.", 1)


def too_often(key: Key, seconds: float) -> ProblemError:
    """The refusal of a turn beyond the rate of this key, which allows the next one in so many seconds."""
    wait = max(1, math.ceil(seconds))
    words = f"Rate limit reached for requests per minute: limit {key.requests_per_minute}."
    return _refused(f"{words} Please try again in {wait}s.", wait)


def _refused(message: str, wait: int) -> ProblemError:
    return ProblemError(Problem(code="rate_limit_exceeded", message=message, retry_after=wait))


def _spelled(seconds: float) -> str:
    """`250ms`, `7.66s`, `1m0s`: as OpenAI writes it."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(round(seconds, 2), MINUTE)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
