"""What callers with limits have used, in memory that all workers share: so a limit holds for all of them together.

Each owner has a slot: its digest, the requests of the last minute and when they were counted, and the turns that run in
each worker. A change of a slot takes a lock on one byte of a file that has no name; the system releases it if the
worker dies. A worker that is stopped while it holds one delays each of the others for `PATIENCE` seconds once: until
they have that lock again, they wait for `SHORT` seconds only, and then count without it.
"""

import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

SLOTS: Final = 16_384
NEAR: Final = 16
"""Slots in which an owner may be: those from the one that its digest names."""
PATIENCE: Final = 0.2
"""Seconds in which a worker that holds a lock has its turn on a busy processor."""
SHORT: Final = 0.001
_TRY_AGAIN: Final = 20e-6
_DIGEST: Final = 16
_BYTES: Final = 8


class OwnerTable:
    """The slots of all owners. It is made before the workers are forked."""

    def __init__(self, count: int, slots: int = SLOTS) -> None:
        self._slots = slots
        self._digests = mmap.mmap(-1, slots * _DIGEST)  # anonymous, and shared with all that are forked later
        self._used = memoryview(mmap.mmap(-1, 2 * slots * _BYTES)).cast("d")
        """For each slot the requests of the last minute, and when they were counted."""
        self._running = [memoryview(mmap.mmap(-1, slots * _BYTES)).cast("q") for _ in range(count)]
        """Turns that run, by worker and slot."""
        self._stuck: set[int] = set()
        """Places whose locks were not to be had."""
        self._file = os.memfd_create("am-proxy") if hasattr(os, "memfd_create") else _nameless()

    def slot(self, owner: str, now: float, idle_before: float) -> int | None:
        """The slot of this owner; None if all that it may have are in use.

        A slot is free again if no turn runs and nothing was counted since `idle_before`.
        """
        digest = sha256(owner.encode()).digest()[:_DIGEST]
        first = int.from_bytes(digest[:4], "big")
        near = [(first + step) % self._slots for step in range(NEAR)]
        with self._locked(self._slots):
            for slot in near:
                if self._digest(slot) == digest:
                    return slot
            for slot in near:
                if not self.running(slot) and self._used[2 * slot + 1] < idle_before:
                    self._digests[slot * _DIGEST : (slot + 1) * _DIGEST] = digest
                    self.use(slot, 0, now)
                    return slot
        return None

    def is_of(self, slot: int, owner: str) -> bool:
        """Whether the slot still belongs to this owner."""
        return self._digest(slot) == sha256(owner.encode()).digest()[:_DIGEST]

    @contextmanager
    def changing(self, slot: int) -> Iterator[None]:
        """Nobody else changes the slot until the block ends."""
        with self._locked(slot):
            yield

    def used(self, slot: int) -> tuple[float, float]:
        """The requests of the last minute, and when they were counted."""
        return self._used[2 * slot], self._used[2 * slot + 1]

    def use(self, slot: int, spent: float, seen: float) -> None:
        """Changes both."""
        self._used[2 * slot], self._used[2 * slot + 1] = spent, seen

    def running(self, slot: int) -> int:
        """Turns that run in all workers."""
        return sum(column[slot] for column in self._running)

    def run(self, slot: int, worker: int, number: int) -> None:
        """So many turns run in this worker."""
        self._running[worker][slot] = number

    def end(self, worker: int) -> None:
        """A worker has ended."""
        column = self._running[worker]
        for slot, number in enumerate(column):
            if number:
                column[slot] = 0

    def _digest(self, slot: int) -> bytes:
        return self._digests[slot * _DIGEST : (slot + 1) * _DIGEST]

    @contextmanager
    def _locked(self, place: int) -> Iterator[None]:
        is_held = self._lock(place) or self._lock_soon(place)
        try:
            yield
        finally:
            if is_held:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def _lock(self, place: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:  # another one has it
            return False
        self._stuck.discard(place)
        return True

    def _lock_soon(self, place: int) -> bool:
        until = time.monotonic() + (SHORT if place in self._stuck else PATIENCE)
        while time.monotonic() < until:
            time.sleep(_TRY_AGAIN)
            if self._lock(place):
                return True
        self._stuck.add(place)
        return False


def _nameless() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
