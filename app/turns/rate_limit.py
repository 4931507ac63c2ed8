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
        if key.concurrency is not None and self.running >= key.concurrency:
            raise _refused(f"This key may run {key.concurrency} requests at once, and does.", 1)
        if key.requests_per_minute is not None:
            left = self._left(key.requests_per_minute)
            if left < 1:
                raise _too_often(key, (1 - left) * MINUTE / key.requests_per_minute)
            self._spent += 1
        self.running += 1

    def give_back(self) -> None:
        """One request has ended."""
        self.running -= 1

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

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._keys: dict[str, RateLimit] = {}
        self._guests: OrderedDict[str, RateLimit] = OrderedDict()

    def of(self, caller: Key) -> RateLimit:
        """The rate limit of one caller, remembered from now on."""
        if caller.own is None:
            if (known := self._keys.get(caller.owner)) is None:
                known = self._keys[caller.owner] = RateLimit(self._clock)
            return known
        owner = caller.owner
        rate_limit = self._guests.get(owner)
        if rate_limit is None:
            rate_limit = self._guests[owner] = RateLimit(self._clock)
            if len(self._guests) > MOST_GUESTS:
                self._forget_one()
        self._guests.move_to_end(owner)
        return rate_limit

    def headers(self, caller: Key) -> dict[str, str]:
        """What this caller has left, as headers. Nothing is remembered for that."""
        if caller.requests_per_minute is None:
            return {}
        rate_limit = (self._keys if caller.own is None else self._guests).get(caller.owner)
        return (rate_limit or RateLimit(self._clock)).headers(caller)

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


def _too_often(key: Key, seconds: float) -> ProblemError:
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
