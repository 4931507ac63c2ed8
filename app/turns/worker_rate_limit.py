"""The rate limit of one caller in all workers together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..settings import Key
from ..workers.owner_table import OwnerTable
from .rate_limit import MINUTE, RateLimit

FREE_AFTER: Final = 2 * MINUTE
"""Seconds after which nothing is left of what a caller has used."""


class WorkerRateLimit(RateLimit):
    """What one caller has used, in this worker and the others. Where there is no room for it, in this one alone."""

    def __init__(self, clock: Callable[[], float], table: OwnerTable, owner: str, worker: int) -> None:
        super().__init__(clock)
        self._table = table
        self._owner = owner
        self._worker = worker
        self._slot: int | None = None

    def headers(self, key: Key) -> dict[str, str]:
        """What is left, in OpenAI's headers."""
        if key.requests_per_minute is None:
            return {}
        with self._shared():
            return super().headers(key)

    def take(self, key: Key) -> None:
        """One request begins. Raises `ProblemError` if it is one too many."""
        with self._shared():
            super().take(key)

    def give_back(self) -> None:
        """One request has ended."""
        super().give_back()
        if self._slot is not None:
            self._table.run(self._slot, self._worker, self.running)

    def _running_in_all(self) -> int:
        return self.running if self._slot is None else self._table.running(self._slot)

    @contextmanager
    def _shared(self) -> Iterator[None]:
        """Reads what all have used, and writes it when the block ends. Nobody else does so meanwhile."""
        now = self._clock()
        if self._slot is None or not self._table.is_of(self._slot, self._owner):  # it was idle for long
            self._slot = self._table.slot(self._owner, now, now - FREE_AFTER)
        slot = self._slot
        if slot is None:
            yield
            return
        with self._table.changing(slot):
            self._spent, self._seen = self._table.used(slot)
            try:
                yield
            finally:
                self._table.use(slot, self._spent, self._seen)
                self._table.run(slot, self._worker, self.running)


class WorkerLimits:
    """Makes the rate limits of one worker."""

    def __init__(self, table: OwnerTable, worker: int) -> None:
        self._table = table
        self._worker = worker

    def of(self, caller: Key, clock: Callable[[], float]) -> RateLimit:
        """That of this caller: shared with the other workers, if it has limits."""
        if caller.requests_per_minute is None and caller.concurrency is None:
            return RateLimit(clock)
        return WorkerRateLimit(clock, self._table, caller.owner, self._worker)
