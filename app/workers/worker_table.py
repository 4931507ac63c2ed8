"""A table in shared memory with a row for each worker. It is made before the workers are forked."""

import mmap
import os
from collections.abc import Iterator
from typing import Final

from .value_segment import ValueSegment

_COLUMNS: Final = 4
_BYTES: Final = 8


class WorkerTable:
    """The table. Each worker writes its own row only, number by number, so there is no lock."""

    def __init__(self, count: int) -> None:
        self.count = count
        memory = mmap.mmap(-1, (count + 1) * _COLUMNS * _BYTES)  # anonymous, and shared with all that are forked later
        numbers = memoryview(memory).cast("d")
        self._rows = [WorkerRow(numbers[at * _COLUMNS : (at + 1) * _COLUMNS]) for at in range(count)]
        self._supervisor = WorkerRow(numbers[count * _COLUMNS :])
        self._supervisor.pid = os.getpid()
        self.segments = [ValueSegment() for _ in range(count)]
        """The figures of each worker."""

    def row(self, number: int) -> "WorkerRow":
        """The row of one worker."""
        return self._rows[number]

    def pids(self) -> list[int]:
        """The processes that run, the supervisor first."""
        return [row.pid for row in (self._supervisor, *self._rows) if row.pid]

    @property
    def ended_seconds(self) -> float:
        """Seconds of processor time that workers used which have ended. Only the supervisor adds to it."""
        return self._supervisor.seen

    def end(self, number: int, seconds: float) -> None:
        """A worker has ended, which used so much processor time. For the supervisor."""
        self._rows[number].clear()
        self.segments[number].end()
        self._supervisor.seen += seconds

    def __iter__(self) -> Iterator["WorkerRow"]:
        return iter(self._rows)


class WorkerRow:
    """What one worker says about itself."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: "memoryview[float]") -> None:
        self._numbers = numbers

    @property
    def connections(self) -> int:
        """Open connections of clients."""
        return int(self._numbers[0])

    @connections.setter
    def connections(self, number: int) -> None:
        self._numbers[0] = number

    @property
    def turns(self) -> int:
        """Turns that ran when it was `seen`."""
        return int(self._numbers[1])

    @turns.setter
    def turns(self, number: int) -> None:
        self._numbers[1] = number

    @property
    def seen(self) -> float:
        """When its event loop ran last, on the system's monotonic clock; 0: it accepts no connections."""
        return float(self._numbers[2])

    @seen.setter
    def seen(self, seconds: float) -> None:
        self._numbers[2] = seconds

    @property
    def pid(self) -> int:
        """The number of its process; 0 if none runs."""
        return int(self._numbers[3])

    @pid.setter
    def pid(self, number: int) -> None:
        self._numbers[3] = number

    def clear(self) -> None:
        """The worker has ended."""
        self.connections = self.turns = self.pid = 0
        self.seen = 0
