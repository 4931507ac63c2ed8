"""Where each conversation was left, in memory that all workers share: so the next turn is known to continue it in any.

An end is a digest of the conversation up to there, with the turn that left it. It is written without a lock: whoever
reads it meanwhile sees that its check does not fit. Where there is no room, the oldest end gives way.
"""

import mmap
import struct
import time
from hashlib import blake2b
from typing import Final, NamedTuple
from zlib import crc32

SLOTS: Final = 65_536
NEAR: Final = 8
"""Slots in which an end may be: those from the one that its digest names."""
_DIGEST: Final = 16
_BYTES: Final = 8
_END: Final = struct.Struct(f"={_DIGEST}sd6q2?")
_CHECK: Final = struct.Struct("=I")
_SLOT: Final = 96


class SharedEnd(NamedTuple):
    """A turn that left a conversation there."""

    turn: int
    session: int
    place: int
    """The place of the turn in its session."""
    name: int
    """A digest of the session's name; 0 if it has none."""
    is_complete: bool
    """Whether the turn has an answer."""
    is_empty: bool
    """Whether nothing is in the answer, as in that of a turn that was only prepared."""


class ConversationEnds:
    """The ends of all workers and owners. It is made before the workers are forked."""

    def __init__(self, count: int, slots: int = SLOTS) -> None:
        self.count = count
        self._slots = slots
        self._memory = mmap.mmap(-1, slots * _SLOT)  # anonymous, and shared with all that are forked later
        self._generations = memoryview(mmap.mmap(-1, count * _BYTES)).cast("q")
        """How often each worker has forgotten all its turns."""
        self._turns = memoryview(mmap.mmap(-1, count * _BYTES)).cast("q")
        self._sessions = memoryview(mmap.mmap(-1, count * _BYTES)).cast("q")
        """How many numbers each worker has given."""

    def of(self, worker: int, owner: str) -> "OwnersEnds":
        """Those of one owner, as one worker sees them."""
        return OwnersEnds(self, worker, owner)

    def forget(self, worker: int) -> None:
        """Forgets the ends of one worker, which keeps none of its turns any more."""
        self._generations[worker] += 1

    def new_turn(self, worker: int) -> int:
        """A number for one more turn, which tells the worker. None is used again, even if the worker dies."""
        return self._next(self._turns, worker)

    def new_session(self, worker: int) -> int:
        """The same for a session."""
        return self._next(self._sessions, worker)

    def _next(self, given: "memoryview[int]", worker: int) -> int:
        given[worker] += 1
        return worker + 1 + (given[worker] - 1) * self.count

    def put(self, digest: bytes, worker: int, end: SharedEnd) -> None:
        """Keeps an end."""
        *numbers, is_complete, is_empty = end
        data = _END.pack(digest, time.monotonic(), *numbers, worker, self._generations[worker], is_complete, is_empty)
        start = min(self._near(digest), key=lambda near: self._age_of(near, digest)) * _SLOT
        self._memory[start : start + _END.size + _CHECK.size] = data + _CHECK.pack(crc32(data))

    def find(self, digest: bytes, but: int) -> SharedEnd | None:
        """The end with this digest, if a worker keeps it, but not this one."""
        for near in self._near(digest):
            start = near * _SLOT
            if self._memory[start : start + _DIGEST] != digest:
                continue
            data = self._memory[start : start + _END.size]
            (check,) = _CHECK.unpack_from(self._memory, start + _END.size)
            _, _, turn, session, place, name, worker, generation, is_complete, is_empty = _END.unpack(data)
            if check == crc32(data) and worker != but and generation == self._generations[worker]:
                return SharedEnd(turn, session, place, name, is_complete, is_empty)
        return None

    def _near(self, digest: bytes) -> list[int]:
        first = int.from_bytes(digest[:4], "big")
        return [(first + step) % self._slots for step in range(NEAR)]

    def _age_of(self, slot: int, digest: bytes) -> float:
        """When it was written; before all others if it has this digest."""
        start = slot * _SLOT
        if self._memory[start : start + _DIGEST] == digest:
            return -1
        (at,) = struct.unpack_from("=d", self._memory, start + _DIGEST)
        return float(at)


class OwnersEnds:
    """The ends that belong to one owner. Those of `kind` are told apart from others with the same digest."""

    def __init__(self, ends: ConversationEnds, worker: int, owner: str) -> None:
        self._ends = ends
        self._worker = worker
        self._owner = blake2b(owner.encode(), digest_size=_DIGEST).digest()

    def put(self, kind: bytes, digest: bytes, end: SharedEnd) -> None:
        """Tells the other workers."""
        self._ends.put(self._digest(kind, digest), self._worker, end)

    def find(self, kind: bytes, digest: bytes) -> SharedEnd | None:
        """What another worker keeps."""
        return self._ends.find(self._digest(kind, digest), self._worker)

    def _digest(self, kind: bytes, digest: bytes) -> bytes:
        return blake2b(kind + digest, key=self._owner, digest_size=_DIGEST).digest()
