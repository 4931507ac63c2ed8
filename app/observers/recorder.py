"""The ring buffer of the last turns, in memory, for debugging an agent. Off by default; nothing is written to disk."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakSet

import msgspec

from ..emitter.encoded_size import LONG, size_of
from ..json_text import json_bytes, json_value
from ..protocol.events import Event, Relayed
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..turns.prompt_comparison import KnownPrompt
from .in_order import BUSY, Backlog, InOrder
from .redaction import LONGEST, ask_left_out, brief, redacted, shown

MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of one turn that are kept: the request, the ask and the events. Later events are only counted."""

EACH: Final = 512
"""Bytes counted for every event that waits to be shown, in addition to its text."""

MOST_QUEUED: Final = 2000
"""Messages that a watcher may not have read yet; a slower one is disconnected."""

MOST_QUEUED_BYTES: Final = 16 * 1024 * 1024
"""Bytes of these messages: they are kept for this watcher only."""

_encode: Final = msgspec.json.Encoder().encode


class Note(msgspec.Struct, frozen=True):
    """One message about a turn for watchers: an SSE event."""

    name: str
    data: bytes
    owner: str


class Recorded:
    """The record of one turn. Long notes are made in threads; their order is kept."""

    def __init__(self, recorder: "Recorder", fields: Mapping[str, Any], backlog: Backlog) -> None:
        self._recorder = recorder
        self._fields = fields
        self._in_order = InOrder(backlog, fields)
        self._start = time.perf_counter()
        self._has_begun = False
        self._room = MOST_BYTES
        self._left_out = 0
        self.id = str(fields.get("request_id", ""))
        self.notes: list[Note] = []
        self.prompt: KnownPrompt | None = None
        """Its prompt, with which those of later turns are compared."""

    @property
    def owner(self) -> str:
        """`Key.owner` of the caller. Empty before the caller is known, and where no keys are configured."""
        return str(self._fields.get("owner", ""))

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(len(note.data) for note in self.notes) + (0 if self.prompt is None else self.prompt.fingerprint.size)

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:
        """The client's request, and what this upstream is asked."""
        more = {"upstream": upstream, "warnings": warnings}
        size = 2 * request.size if request.size <= LONGEST else 0  # the ask is about as long
        if not self._add("asked", size, lambda: {**shown(request, ask), **more}):
            self._add("asked", 0, lambda: {**brief(request, BUSY), **more})

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """What this upstream is asked to go on with a paused answer."""
        more = {"upstream": upstream, "warnings": [], "goes_on": True}
        if size > LONGEST:
            self._add("asked", 0, lambda: {**ask_left_out(size), **more})
        elif not self._add("asked", size, lambda: {"ask": redacted(ask), **more}):
            self._add("asked", 0, lambda: {**ask_left_out(size, BUSY), **more})

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """The problem of one upstream. If the client gets it as well, `refused` shows it once more."""
        self._add("failed", 0, lambda: {"upstream": upstream, **redacted(problem.body())})

    def sent(self, events: list[Event]) -> None:
        """The events that are sent."""
        at = round((time.perf_counter() - self._start) * 1000, 2)
        size = sum(EACH + size_of(event, LONG + 1) for event in events)
        has_room = size - EACH * len(events) <= self._room  # encoding more would take long, for nothing
        if not has_room or not self._add("sent", size, lambda: self._shown(at, events), len(events)):
            self._left_out += len(events)

    def refused(self, problem: Problem) -> None:
        """The problem that the client gets instead of an answer."""
        self._add("refused", 0, lambda: {"status": problem.shape.status, **redacted(problem.body())})

    def ended(self, fields: Mapping[str, Any]) -> None:
        """The fields of the turn's log line."""
        shown = {name: value for name, value in fields.items() if name != "owner"}
        self._add("ended", 0, lambda: self._end(shown))

    def _shown(self, at: float, events: list[Event]) -> dict[str, Any] | None:
        raws = [event.data if isinstance(event, Relayed) else _encode(event) for event in events]
        if sum(map(len, raws)) > self._room:
            return None
        return {"at": at, "events": [redacted(json_value(raw)) for raw in raws]}

    def _end(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._room = MOST_BYTES  # the end is kept, however much was sent before
        return {"fields": fields, "left_out": self._left_out}

    def _add(self, name: str, size: int, shown: Callable[[], dict[str, Any] | None], events: int = 0) -> bool:
        """Adds a note about `size` bytes with what `shown` returns. False where too much waits to be shown."""
        if not self._has_begun:
            self._has_begun = True
            began = {
                "when": time.strftime("%H:%M:%S"),
                "model": self._fields.get("model", ""),
                "key": self._fields.get("key", ""),
            }
            self._add("began", 0, lambda: began)

        def make() -> bytes | None:
            data = shown()
            return None if data is None else json_bytes({"id": self.id, **data})

        return self._in_order.write(size, make, partial(self._keep, name, events))

    def _keep(self, name: str, events: int, data: bytes | None) -> None:
        if data is None or len(data) > self._room:
            self._left_out += events
            return
        self._room -= len(data)
        self._recorder.publish(self, Note(name, data, self.owner))


class Recorder:
    """The ring buffer of turns, and its watchers.

    When it is full, the oldest turn of the owner who holds most is forgotten: no owner pushes out all turns of another.
    """

    def __init__(self, keep: int, most_bytes: int, *, keyed: bool = False) -> None:
        self.keep = keep
        self._most_bytes = most_bytes
        self._keyed = keyed
        self._backlog = Backlog()
        self._turns: list[Recorded] = []
        self._held: dict[str, _Held] = {}
        """What each owner has in the buffer."""
        self._bytes = 0
        """Bytes of all notes in the buffer."""
        self._forgotten: WeakSet[Recorded] = WeakSet()
        self._watchers: set[_Watcher] = set()

    def follow(self, most_bytes: int, *, keyed: bool) -> None:
        """Changes the settings. With keys, turns of callers without one are not kept, because no one may see them."""
        self._most_bytes = most_bytes
        self._keyed = keyed

    def began(self, fields: Mapping[str, Any]) -> Recorded:
        """The record of one more turn. It enters the buffer with its first note."""
        return Recorded(self, fields, self._backlog)

    def publish(self, turn: Recorded, note: Note) -> None:
        """Keeps a note of a turn, and sends it to watchers. A turn that was forgotten while it ran stays forgotten."""
        if turn in self._forgotten or (self._keyed and not note.owner.startswith("key:")):
            return
        owner = turn.notes[0].owner if turn.notes else note.owner
        held = self._held.setdefault(owner, _Held())
        if not turn.notes:
            self._turns.append(turn)
            held.turns += 1
        turn.notes.append(note)
        self._count(held, len(note.data))
        if turn.notes:
            self._pass_on(note)

    def prompts_of(self, owner: str) -> list[KnownPrompt]:
        """The prompts of this owner's turns, oldest first."""
        if owner not in self._held:
            return []
        return [turn.prompt for turn in self._turns if turn.prompt is not None and turn.notes[0].owner == owner]

    def keep_prompt(self, owner: str, prompt: KnownPrompt) -> None:
        """Keeps the prompt of a turn, as long as the turn is kept."""
        for turn in reversed(self._turns):
            if turn.id == prompt.request_id and turn.notes[0].owner == owner and turn.prompt is None:
                turn.prompt = prompt
                self._count(self._held[owner], prompt.fingerprint.size)
                return

    def _count(self, held: "_Held", size: int) -> None:
        """Counts what was added, and forgets turns if that is too much."""
        held.bytes += size
        self._bytes += size
        while len(self._turns) > self.keep:
            self._forget_of(max(self._held, key=lambda owner: self._held[owner].turns))
        while self._bytes > self._most_bytes and len(self._turns) > 1:
            self._forget_of(max(self._held, key=lambda owner: self._held[owner].bytes))

    async def watch(self, may_see: Callable[[str], bool]) -> AsyncIterator[Note]:
        """All notes in the buffer, then each new one, of the owners that may be seen. Ends for slow watchers."""
        kept = [(turn, len(turn.notes)) for turn in self._turns]  # the notes themselves are not held for a slow watcher
        watcher = _Watcher(may_see)
        self._watchers.add(watcher)
        try:
            for turn, count in kept:
                for index in range(count):
                    if index >= len(turn.notes) or not may_see(turn.notes[index].owner):
                        break  # it was forgotten meanwhile, or belongs to another owner
                    yield turn.notes[index]
            while (note := await watcher.next()) is not None:
                yield note
        finally:
            self._watchers.discard(watcher)

    def end_watching(self) -> None:
        """Ends all watchers after what they have not read yet: the server stops, or its settings have changed."""
        for watcher in tuple(self._watchers):
            self._watchers.discard(watcher)
            watcher.end()

    def _forget_of(self, owner: str) -> None:
        """Forgets the oldest turn of this owner. There is one."""
        turn = next(turn for turn in self._turns if turn.notes[0].owner == owner)
        self._turns.remove(turn)
        self._forgotten.add(turn)
        size = turn.size
        self._bytes -= size
        held = self._held[owner]
        held.turns, held.bytes = held.turns - 1, held.bytes - size
        if not held.turns:
            del self._held[owner]
        turn.notes.clear()
        turn.prompt = None
        self._pass_on(Note("forgotten", _encode({"id": turn.id}), owner))

    def _pass_on(self, note: Note) -> None:
        for watcher in tuple(self._watchers):
            if not watcher.add(note):
                self._watchers.discard(watcher)
                watcher.end()


class _Held:
    """How much one owner has in the buffer."""

    def __init__(self) -> None:
        self.turns = 0
        self.bytes = 0


class _Watcher:
    """One reader of turns as they run, and the notes it has not read yet."""

    def __init__(self, may_see: Callable[[str], bool]) -> None:
        self._may_see = may_see
        self._queue: asyncio.Queue[Note | None] = asyncio.Queue()
        self._bytes = 0

    def add(self, note: Note) -> bool:
        """Queues a note for the watcher. False if it reads too slowly."""
        if not self._may_see(note.owner):
            return True
        self._bytes += len(note.data)
        if self._queue.qsize() >= MOST_QUEUED or self._bytes > MOST_QUEUED_BYTES:
            return False
        self._queue.put_nowait(note)
        return True

    async def next(self) -> Note | None:
        """The next note; None at the end."""
        note = await self._queue.get()
        self._bytes -= 0 if note is None else len(note.data)
        return note

    def end(self) -> None:
        """Ends the watcher after the queued notes."""
        self._queue.put_nowait(None)
