"""Numbers under names in shared memory: one worker writes them, all read them, and they outlive the worker.

Layout
------
The first eight bytes are the number of bytes that are used, themselves included. Then come entries, which are never
moved or removed: the length of the name (eight bytes), the name as JSON, padded to eight bytes, and the value as a
double. An entry counts once it is within what is used, so one that was not completed is overwritten.
"""

import json
import logging
import mmap
import struct
from collections.abc import Iterator
from math import isnan, nan
from threading import Lock
from typing import Final, Literal, NamedTuple

log = logging.getLogger("am_proxy")

SIZE: Final = 16 * 1024 * 1024
"""Bytes of address space; memory is taken as it is used. A value takes about 150."""
_WORD: Final = 8
_NUMBER: Final = struct.Struct("<Q")

Mode = Literal["counter", "sum", "max"]
"""How values of several workers become one. All but counters are states of a worker, and end with it."""


class ValueName(NamedTuple):
    """What a number is about, in the words of Prometheus."""

    mode: Mode
    family: str
    sample: str
    labels: tuple[tuple[str, str], ...]


class ValueSegment:
    """The numbers of one worker, and of those that had its number before it."""

    def __init__(self, size: int = SIZE) -> None:
        self._memory = mmap.mmap(-1, size)  # anonymous, and shared with all that are forked later
        self._values = memoryview(self._memory).cast("d")
        self._size = size
        self._known = _WORD
        """Bytes whose entries are in `_places`."""
        self._places: dict[ValueName, int] = {}
        self._is_full = False
        self._lock = Lock()
        _NUMBER.pack_into(self._memory, 0, _WORD)

    def place(self, name: ValueName) -> int | None:
        """Where the value with this name is; a new one is 0. None if there is no room for it. For the writer."""
        with self._lock:
            self._learn()
            if name not in self._places:
                self._add(name)
            return self._places.get(name)

    def get(self, place: int) -> float:
        """The value."""
        return self._values[place]

    def set(self, place: int, value: float) -> None:
        """Changes it. For the writer."""
        self._values[place] = value

    def end(self) -> None:
        """The worker has ended: its counters stay, its states do not."""
        self._learn()
        for name, place in self._places.items():
            if name.mode != "counter":
                self._values[place] = nan

    def entries(self) -> Iterator[tuple[ValueName, float]]:
        """All that have a value."""
        with self._lock:
            self._learn()
        for name, place in self._places.items():
            if not isnan(value := self._values[place]):
                yield name, value

    def _learn(self) -> None:
        (used,) = _NUMBER.unpack_from(self._memory)
        while self._known < used:
            (length,) = _NUMBER.unpack_from(self._memory, self._known)
            start = self._known + _WORD
            mode, family, sample, labels = json.loads(self._memory[start : start + length])
            end = start + _padded(length)
            self._places[ValueName(mode, family, sample, tuple(map(tuple, labels)))] = end // _WORD
            self._known = end + _WORD

    def _add(self, name: ValueName) -> None:
        data = json.dumps(name).encode()
        start = self._known + _WORD
        end = start + _padded(len(data))
        if end + _WORD > self._size:
            if not self._is_full:
                self._is_full = True
                log.warning("this worker has more figures than workers can share: /metrics lacks some of them")
            return
        _NUMBER.pack_into(self._memory, self._known, len(data))
        self._memory[start : start + len(data)] = data
        self._values[end // _WORD] = 0
        _NUMBER.pack_into(self._memory, 0, end + _WORD)
        self._learn()


def _padded(length: int) -> int:
    return -(-length // _WORD) * _WORD
