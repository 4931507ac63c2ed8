"""How many turns run at once, and how many requests a caller may make."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ..observe.metrics import running
from ..settings.tables import Caller, ServerSettings
from ..types.problems import Problem, ProblemError

_MINUTE = 60
_PAUSE = 2
"""Seconds after which it may be worth asking a full server again."""


class Limits:
    """Counts the turns that run, and the requests of callers."""

    def __init__(self) -> None:
        self._running = 0
        self._used: defaultdict[str, _Used] = defaultdict(_Used)
        self._swept = time.monotonic()

    @contextmanager
    def slot(self, caller: Caller, server: ServerSettings) -> Iterator[Callable[[], None]]:
        """The right to run a turn within the block; what it gives frees that before. A refusal is not counted.

        Raises `ProblemError` where there is none.
        """
        if self._running >= server.max_turns:
            message = f"This server runs {server.max_turns} turns at once, and no more."
            raise ProblemError(Problem("overloaded", message, retry_after=_PAUSE))
        self._sweep()
        used = self._used[caller.owner]
        if caller.concurrency is not None and used.running >= caller.concurrency:
            raise _refused(f"This key may run {caller.concurrency} requests at once, and does.", 1)
        if (most := caller.requests_per_minute) is not None:
            if (left := used.left(most)) < 1:
                wait = max(1, math.ceil((1 - left) * _MINUTE / most))
                words = f"Rate limit reached for requests per minute: limit {most}. Please try again in {wait}s."
                raise _refused(words, wait)
            used.spent += 1
        used.running += 1
        self._running += 1
        running.inc()
        with ExitStack() as slot:
            slot.callback(self._free, used)
            yield slot.close

    def _free(self, used: "_Used") -> None:
        used.running -= 1
        self._running -= 1
        running.dec()

    def headers(self, caller: Caller) -> dict[str, str]:
        """What is left to this caller, in OpenAI's headers; none for a caller without a limit."""
        if (most := caller.requests_per_minute) is None:
            return {}
        left = self._used[caller.owner].left(most)
        told = {"limit": most, "remaining": int(left), "reset": _spelled((most - left) * _MINUTE / most)}
        return {f"x-ratelimit-{name}-requests": str(value) for name, value in told.items()}

    def _sweep(self) -> None:
        """Forgets, once a minute, who has all requests left: anyone can invent another guest."""
        now = time.monotonic()
        if now - self._swept > _MINUTE:
            self._swept = now
            for owner, used in list(self._used.items()):
                if not used.running and now - used.seen > _MINUTE:
                    del self._used[owner]


class _Used:
    """What a caller has used. A minute's requests may come all at once; they are restored one by one, evenly."""

    def __init__(self) -> None:
        self.running = 0
        self.spent = 0.0
        """Requests that are not restored yet."""
        self.seen = time.monotonic()

    def left(self, most: int) -> float:
        """The requests that are left, of so many in a minute."""
        now = time.monotonic()
        self.spent = max(0.0, min(most, self.spent) - (now - self.seen) * most / _MINUTE)
        self.seen = now
        return most - self.spent


def _refused(message: str, wait: int) -> ProblemError:
    return ProblemError(Problem("rate_limit_exceeded", message, retry_after=wait))


def _spelled(seconds: float) -> str:
    """`250ms`, `7.66s`, `1m0s`: as OpenAI writes it."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(round(seconds, 2), _MINUTE)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
