"""How many turns run at once, and how many requests a key may make."""

import time
from collections import Counter, defaultdict, deque
from typing import Final

from ..settings.tables import KeySettings, ServerSettings
from ..types.problems import Problem, ProblemError

_MINUTE: Final = 60.0


class Limits:
    """Counts the turns that run, and the requests of the last minute, by key."""

    def __init__(self) -> None:
        self.running = 0
        self._by_key: Counter[str] = Counter()
        self._spent: defaultdict[str, deque[float]] = defaultdict(deque)

    def enter(self, key: KeySettings | None, server: ServerSettings) -> None:
        """Takes a slot for a turn. Raises `ProblemError` where there is none."""
        if self.running >= server.max_turns:
            message = "This server runs as many turns as it may (`max_turns`). Please try again."
            raise ProblemError(Problem(code="overloaded", message=message, retry_after=1))
        if key is not None:
            self._charge(key)
            self._by_key[key.name] += 1
        self.running += 1

    def leave(self, key: KeySettings | None) -> None:
        """Frees the slot."""
        self.running -= 1
        if key is not None:
            self._by_key[key.name] -= 1

    def _charge(self, key: KeySettings) -> None:
        if key.concurrency is not None and self._by_key[key.name] >= key.concurrency:
            message = f"The key '{key.name}' runs {key.concurrency} turns, as many as it may. Please try again in 1s."
            raise ProblemError(Problem(code="rate_limit_exceeded", message=message, retry_after=1))
        if key.requests_per_minute is None:
            return
        now, spent = time.monotonic(), self._spent[key.name]
        while spent and now - spent[0] >= _MINUTE:
            spent.popleft()
        if len(spent) >= key.requests_per_minute:
            wait = int(_MINUTE - (now - spent[0])) + 1 if spent else int(_MINUTE)
            may = f"The key '{key.name}' may make {key.requests_per_minute} requests a minute."
            message = f"{may} Please try again in {wait}s."
            raise ProblemError(Problem(code="rate_limit_exceeded", message=message, retry_after=wait))
        spent.append(now)
