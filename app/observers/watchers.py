"""Readers of the inspector's ring buffer: of the notes of a turn as it runs, and of the list of turns."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from ..json_text import json_bytes
from .kept_notes import Kept
from .recorded_turn import Recorded

MOST_QUEUED: Final = 2000
"""Notes that a watcher may not have read yet; a slower one is disconnected."""
MOST_QUEUED_BYTES: Final = 16 * 1024 * 1024
"""Bytes of these notes: they are kept for this watcher only."""


class Note(msgspec.Struct, frozen=True):
    """One message for watchers: an SSE event."""

    name: str
    data: bytes


class Seen(NamedTuple):
    """A note of a turn."""

    turn: Recorded
    note: Kept

    @property
    def head(self) -> bytes:
        """The beginning of its JSON."""
        return self.turn.head

    @property
    def size(self) -> int:
        """Bytes that it takes, about: its parts may be forgotten, and are held for the watcher then."""
        return len(self.note.shown(self.head)) if self.note.name == "asked" else self.note.own_size


class NoteWatcher:
    """One reader of the turn with this number, and the notes it has not read yet."""

    def __init__(self, may_see: Callable[[str], bool], number: int) -> None:
        self._may_see = may_see
        self._number = number
        self._queue: asyncio.Queue[tuple[Seen | None, int]] = asyncio.Queue()
        self._bytes = 0

    def add(self, seen: Seen) -> bool:
        """Queues a note for the watcher. False if it reads too slowly."""
        if self._number != seen.turn.number or not self._may_see(seen.turn.kept_for or ""):
            return True
        size = seen.size
        self._bytes += size
        if self._queue.qsize() >= MOST_QUEUED or self._bytes > MOST_QUEUED_BYTES:
            return False
        self._queue.put_nowait((seen, size))
        return True

    async def next(self) -> Seen | None:
        """The next note; None at the end."""
        seen, size = await self._queue.get()
        self._bytes -= size
        return seen

    def end(self) -> None:
        """Ends the watcher after the queued notes."""
        self._queue.put_nowait((None, 0))


class ListWatcher:
    """One reader of the list of turns. However slowly it reads, a row waits once."""

    def __init__(self, may_see: Callable[[str], bool], turns: Iterable[Recorded]) -> None:
        self._may_see = may_see
        self._waiting: dict[int, Recorded] = {turn.number: turn for turn in turns}
        self._first = len(self._waiting)
        """How many of those that were there before it has yet to read."""
        self._is_ready = False
        self._sent: set[int] = set()
        self._forgotten: deque[int] = deque()
        self._has_ended = False
        self._arrival = asyncio.Event()

    def changed(self, turn: Recorded) -> None:
        """The row of this turn is another one."""
        if self._may_see(turn.kept_for or ""):
            self._waiting.setdefault(turn.number, turn)
            self._arrival.set()

    def add(self, seen: Seen) -> bool:
        """A note: only that a turn was forgotten is of interest. It never reads too slowly."""
        if seen.note.name == "forgotten":
            number = seen.turn.number
            if self._waiting.pop(number, None) is not None and self._first:
                self._first -= 1
            if number in self._sent:
                self._sent.discard(number)
                self._forgotten.append(number)
                self._arrival.set()
        return True

    async def next(self) -> Note | None:
        """The next message; None at the end."""
        while True:
            if not self._is_ready and not self._first:
                self._is_ready = True
                return Note("ready", json_bytes({"turns": len(self._sent)}))
            if self._forgotten:
                return Note("forgotten", json_bytes({"number": self._forgotten.popleft()}))
            if self._waiting:
                number = next(iter(self._waiting))
                turn = self._waiting.pop(number)
                self._sent.add(number)
                self._first -= 1 if self._first else 0
                return Note("row", json_bytes(turn.row()))
            if self._has_ended:
                return None
            self._arrival.clear()
            await self._arrival.wait()

    def end(self) -> None:
        """Ends the watcher after what waits."""
        self._has_ended = True
        self._arrival.set()
