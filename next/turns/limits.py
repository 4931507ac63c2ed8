"""How many turns run at once, and how many requests a key may make."""

import time
from collections import Counter, defaultdict, deque

from ..settings.tables import KeySettings, ServerSettings
from ..types.problems import Problem, ProblemError

_MINUTE = 60.0


class Slot:
    """The right to run one turn."""

    def __init__(self, key: KeySettings | None) -> None:
        self.key = key


class Limits:
    """Counts the turns that run, and the requests of the last minute, by key."""

    def __init__(self) -> None:
        self._taken: set[Slot] = set()
        self._by_key: Counter[str] = Counter()
        self._spent: defaultdict[str, deque[float]] = defaultdict(deque)

    def enter(self, key: KeySettings | None, server: ServerSettings) -> Slot:
        """A slot for a turn. Raises `ProblemError` where there is none."""
        if len(self._taken) >= server.max_turns:
            message = "This server runs as many turns as it may (`max_turns`). Please try again."
            raise ProblemError(Problem(code="overloaded", message=message, retry_after=1))
        if key is not None:
            self._charge(key)
            self._by_key[key.name] += 1
        slot = Slot(key)
        self._taken.add(slot)
        return slot

    def leave(self, slot: Slot) -> None:
        """Frees the slot, if it is not free."""
        if slot in self._taken:
            self._taken.remove(slot)
            if slot.key is not None:
                self._by_key[slot.key.name] -= 1

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
