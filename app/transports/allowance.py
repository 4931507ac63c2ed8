"""How often, and how many times at once, one key may ask. In memory: every process counts for itself."""

import math
from collections.abc import Callable
from typing import Final

from app.protocol.problems import Problem, ProblemError
from app.settings import Key

MINUTE: Final = 60


class Allowance:
    """What one key has left. A minute's requests may come all at once; they come back one by one, evenly."""

    def __init__(self, key: Key, clock: Callable[[], float]) -> None:
        self._key = key
        self._clock = clock
        self._left = float(key.requests_per_minute or 0)
        self._seen = clock()
        self._running = 0

    @property
    def headers(self) -> dict[str, str]:
        """How it stands, in OpenAI's words. Nothing for a key that may ask as often as it likes."""
        most = self._key.requests_per_minute
        if most is None:
            return {}
        self._refill(most)
        return {
            "x-ratelimit-limit-requests": str(most),
            "x-ratelimit-remaining-requests": str(int(self._left)),
            "x-ratelimit-reset-requests": _spelled((most - self._left) * MINUTE / most),
        }

    def take(self) -> None:
        """One request begins. Raises `ProblemError` if it is one too many, which then costs nothing."""
        key = self._key
        if key.concurrency is not None and self._running >= key.concurrency:
            raise _refused(f"This key may run {key.concurrency} requests at once, and does.", 1)
        if key.requests_per_minute is not None:
            self._refill(key.requests_per_minute)
            if self._left < 1:
                wait = math.ceil((1 - self._left) * MINUTE / key.requests_per_minute)
                words = f"Rate limit reached for requests per minute: limit {key.requests_per_minute}."
                raise _refused(f"{words} Please try again in {wait}s.", wait)
            self._left -= 1
        self._running += 1

    def give_back(self) -> None:
        """One request has ended."""
        self._running -= 1

    def _refill(self, most: int) -> None:
        now = self._clock()
        self._left = min(most, self._left + (now - self._seen) * most / MINUTE)
        self._seen = now


def _refused(message: str, wait: int) -> ProblemError:
    return ProblemError(Problem(code="rate_limit_exceeded", message=message, retry_after=wait))


def _spelled(seconds: float) -> str:
    """`250ms`, `7.66s`, `1m0s`: as OpenAI writes it."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(round(seconds, 2), MINUTE)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
