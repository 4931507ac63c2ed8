"""The ring buffer of the last turns, in memory, for debugging an agent. Nothing is written to disk."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from itertools import count
from typing import Any

from .conversations import Conversations
from .in_order import Backlog
from .kept_notes import Kept, KeptMessage
from .recorded_turn import EACH_TURN, MOST_REQUEST, Recorded
from .shared_parts import SharedParts
from .watchers import ListWatcher, Note, NoteWatcher, Seen

MaySee = Callable[[str], bool]


class Recorder:
    """The ring buffer of turns, and its watchers.

    When it is full, the oldest turn of the owner who holds most is forgotten: no owner pushes out all turns of another.
    """

    def __init__(self, keep: int, most_bytes: int, *, keyed: bool = False) -> None:
        self.keep = keep
        self._most_bytes = most_bytes
        self._keyed = keyed
        self._backlog = Backlog(
            8 * MOST_REQUEST, 2 * MOST_REQUEST
        )  # a request and its ask are counted as twice its size
        self._new_number = count(1).__next__
        self._new_session = count(1).__next__
        self._turns: dict[int, Recorded] = {}
        self._held: dict[str, _Held] = {}
        """What each owner has in the buffer."""
        self._bytes = 0
        """Bytes of all that is in the buffer."""
        self._watchers: set[NoteWatcher | ListWatcher] = set()

    @property
    def bytes(self) -> int:
        """Bytes of all that is in the buffer."""
        return self._bytes

    def follow(self, most_bytes: int, *, keyed: bool) -> None:
        """Changes the settings. With keys, turns of callers without one are not kept, because no one may see them."""
        self._most_bytes = most_bytes
        self._keyed = keyed

    def began(self, fields: Mapping[str, Any]) -> Recorded:
        """The record of one more turn. It enters the buffer with its first note."""
        return Recorded(self, self._new_number(), fields, self._backlog)

    def publish(self, turn: Recorded, note: Kept, size: int) -> bool:
        """Keeps a note of a turn, and sends it to watchers. A turn that was forgotten while it ran stays forgotten."""
        if turn.number in self._turns:
            held = self._held[turn.kept_for or ""]
        elif turn.kept_for is not None or (self._keyed and not turn.owner.startswith("key:")):
            return False
        else:
            owner = turn.kept_for = turn.owner
            held = self._held.get(owner) or self._held.setdefault(owner, _Held(Conversations(self._new_session)))
            self._turns[turn.number] = held.turns[turn.number] = turn
            size += EACH_TURN
        turn.size += size
        turn.notes.append(note)
        self._count(held, size + note.hold(held.parts))
        if self._watchers and turn.notes:
            self._pass_on(turn, note)
        return bool(turn.notes)

    def counted(self, turn: Recorded, size: int) -> bool:
        """Counts bytes that a turn keeps beside its notes. False if the turn is not kept."""
        if turn.number not in self._turns:
            return False
        turn.size += size
        self._count(self._held[turn.kept_for or ""], size)
        return bool(turn.notes)

    def changed(self, turn: Recorded) -> None:
        """Tells watchers of the list that a row is another one."""
        if turn.number not in self._turns:
            return
        for watcher in self._watchers:
            if isinstance(watcher, ListWatcher):
                watcher.changed(turn)

    def parts_of(self, owner: str) -> SharedParts:
        """The parts of this owner."""
        return self._held[owner].parts if owner in self._held else SharedParts()

    def conversations_of(self, owner: str) -> Conversations:
        """The sessions of this owner."""
        return self._held[owner].conversations if owner in self._held else Conversations(self._new_session)

    def turn(self, number: int, may_see: MaySee) -> Recorded | None:
        """The turn with this number; None if it is not kept, or belongs to someone else."""
        turn = self._turns.get(number)
        return turn if turn is not None and turn.kept_for is not None and may_see(turn.kept_for) else None

    def turns(self, may_see: MaySee) -> list[Recorded]:
        """All turns that are kept, oldest first."""
        return [turn for turn in self._turns.values() if turn.kept_for is not None and may_see(turn.kept_for)]

    def before(self, turns: Iterable[Recorded], may_see: MaySee) -> list[Recorded]:
        """The turns that these continue, as far as they are kept."""
        numbers = {turn.place.since for turn in turns if turn.place is not None and turn.place.since is not None}
        return [turn for number in numbers if (turn := self.turn(number, may_see)) is not None]

    def session(self, session: int, owner: str) -> list[Recorded]:
        """The turns of a session of this owner, oldest first."""
        held = self._held.get(owner)
        return [] if held is None else [self._turns[number] for number in held.conversations.turns_of(session)]

    async def watch(self, may_see: MaySee, number: int) -> AsyncIterator[Note]:
        """All notes of one turn that are kept, then each new one, up to its end. Ends earlier for slow watchers."""
        turn = self.turn(number, may_see)
        until = 0 if turn is None else len(turn.notes)
        watcher = NoteWatcher(may_see, number)
        self._watchers.add(watcher)
        last = ""
        try:
            for index in range(until):
                if turn is None or index >= len(turn.notes):
                    break  # it was forgotten meanwhile
                note = turn.notes[index]
                last = note.name
                yield Note(note.name, note.shown(turn.head))
            while last not in _LAST and (seen := await watcher.next()) is not None:
                last = seen.note.name
                yield Note(seen.note.name, seen.note.shown(seen.head))
        finally:
            self._watchers.discard(watcher)

    async def rows(self, may_see: MaySee) -> AsyncIterator[Note]:
        """The row of each turn, then each that changes, and which turns are forgotten."""
        watcher = ListWatcher(may_see, self.turns(may_see))
        self._watchers.add(watcher)
        try:
            while (note := await watcher.next()) is not None:
                yield note
        finally:
            self._watchers.discard(watcher)

    def end_watching(self) -> None:
        """Ends all watchers after what they have not read yet: the server stops, or its settings have changed."""
        for watcher in tuple(self._watchers):
            self._watchers.discard(watcher)
            watcher.end()

    def _count(self, held: "_Held", size: int) -> None:
        """Counts what was added, and forgets turns if that is too much."""
        held.bytes += size
        self._bytes += size
        while len(self._turns) > self.keep:
            self._forget_of(max(self._held, key=lambda owner: len(self._held[owner].turns)))
        while self._bytes > self._most_bytes and len(self._turns) > 1:
            self._forget_of(max(self._held, key=lambda owner: self._held[owner].bytes))

    def _forget_of(self, owner: str) -> None:
        """Forgets the oldest turn of this owner. There is one."""
        held = self._held[owner]
        turn = held.turns.pop(next(iter(held.turns)))
        del self._turns[turn.number]
        size = turn.size + sum(note.release(held.parts) for note in turn.notes)
        self._bytes -= size
        held.bytes -= size
        held.conversations.forget(turn.number)
        if not held.turns:
            del self._held[owner]
        turn.forget()
        self._pass_on(turn, KeptMessage("forgotten", [b'{"is_kept":false}']))

    def _pass_on(self, turn: Recorded, note: Kept) -> None:
        for watcher in tuple(self._watchers):
            if not watcher.add(Seen(turn, note)):
                self._watchers.discard(watcher)
                watcher.end()


class _Held:
    """What one owner has in the buffer."""

    def __init__(self, conversations: Conversations) -> None:
        self.turns: dict[int, Recorded] = {}
        self.bytes = 0
        self.parts = SharedParts()
        self.conversations = conversations


_LAST = frozenset({"ended", "forgotten"})
