"""The last turns, in memory, for whoever debugs an agent. Off unless it is asked for; nothing of it is ever written."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final
from weakref import WeakSet

import msgspec

from app.protocol.events import Event, Relayed
from app.protocol.json_bytes import json_bytes, json_value
from app.protocol.problems import Problem
from app.protocol.request import CreateResponse
from app.witnesses.redaction import redacted, shown

MOST_BYTES: Final = 4 * 1024 * 1024
"""Kept of one turn: the request, the ask and the events. What comes later is counted only."""

MOST_IN_ALL: Final = 128 * 1024 * 1024
"""Kept of all turns; beyond it the oldest are forgotten, however many are wanted."""

BEHIND: Final = 2000
"""Messages a watcher may be behind; a slower one is sent away."""

_encode: Final = msgspec.json.Encoder().encode


class Note(msgspec.Struct, frozen=True):
    """Something a watcher is told of a turn: an SSE event."""

    name: str
    data: bytes
    owner: str


class Recorded:
    """One turn."""

    def __init__(self, recorder: "Recorder", fields: Mapping[str, Any]) -> None:
        self._recorder = recorder
        self._fields = fields
        self._began = time.perf_counter()
        self._room = MOST_BYTES
        self._left_out = 0
        self.id = str(fields.get("request_id", ""))
        self.notes: list[Note] = []

    @property
    def owner(self) -> str:
        """Whose key it came in under; not known before the key was seen."""
        return str(self._fields.get("key", ""))

    def asked(self, request: CreateResponse, ask: Any, warnings: list[str]) -> None:
        """What the client wanted, and what its upstream is asked."""
        self._tell("asked", {**shown(request, ask), "warnings": warnings})

    def told(self, events: list[Event]) -> None:
        """What the client is told."""
        at = round((time.perf_counter() - self._began) * 1000, 2)
        raws = [event.data if isinstance(event, Relayed) else _encode(event) for event in events]
        if sum(map(len, raws)) > self._room:
            self._left_out += len(events)
        else:
            self._tell("told", {"at": at, "events": [redacted(json_value(raw)) for raw in raws]})

    def refused(self, problem: Problem) -> None:
        """What the client is told instead."""
        self._tell("refused", {"status": problem.answer.status, **redacted(problem.body())})

    def ended(self, fields: Mapping[str, Any]) -> None:
        """What the log says of it."""
        self._room = MOST_BYTES  # however much was told: the end is kept
        self._tell("ended", {"fields": dict(fields), "left_out": self._left_out})

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        if not self.notes and name != "began":
            self._tell("began", {"when": _clock(), "model": self._fields.get("model", ""), "key": self.owner})
        encoded = json_bytes({"id": self.id, **data})
        if len(encoded) > self._room:
            self._left_out += len(data.get("events", ()))
            return
        self._room -= len(encoded)
        self._recorder.publish(self, Note(name, encoded, self.owner))


class Recorder:
    """A ring of turns, and those who watch it."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self._turns: list[Recorded] = []
        self._held = 0
        """Bytes of all notes in the ring."""
        self._forgotten: WeakSet[Recorded] = WeakSet()
        self._watchers: set[asyncio.Queue[Note | None]] = set()

    def began(self, fields: Mapping[str, Any]) -> Recorded:
        """An account of one more turn. It has its place in the ring only when there is something to tell of it."""
        return Recorded(self, fields)

    def publish(self, turn: Recorded, note: Note) -> None:
        """Keeps a note of a turn, and passes it on. A turn that fell out of the ring while it ran stays out."""
        if turn in self._forgotten:
            return
        if not turn.notes:
            self._turns.append(turn)
        turn.notes.append(note)
        self._held += len(note.data)
        while len(self._turns) > self.keep or (self._held > MOST_IN_ALL and len(self._turns) > 1):
            self._forget(self._turns.pop(0))
        self._pass_on(note)

    async def watch(self, may_see: Callable[[str], bool]) -> AsyncIterator[Note]:
        """Everything in the ring, then everything new, of the turns whose owner may be seen. Ends for slow watchers."""
        kept = [note for turn in self._turns for note in turn.notes]
        queue: asyncio.Queue[Note | None] = asyncio.Queue()
        self._watchers.add(queue)
        try:
            for note in kept:
                if may_see(note.owner):
                    yield note
            while (news := await queue.get()) is not None:
                if may_see(news.owner):
                    yield news
        finally:
            self._watchers.discard(queue)

    def dismiss(self) -> None:
        """Sends all watchers away, who have seen everything so far: the server stops, or other settings hold."""
        for queue in tuple(self._watchers):
            self._watchers.discard(queue)
            queue.put_nowait(None)

    def _forget(self, turn: Recorded) -> None:
        self._forgotten.add(turn)
        self._held -= sum(len(note.data) for note in turn.notes)
        turn.notes.clear()
        self._pass_on(Note("forgotten", _encode({"id": turn.id}), turn.owner))

    def _pass_on(self, note: Note) -> None:
        for queue in tuple(self._watchers):
            if queue.qsize() < BEHIND:
                queue.put_nowait(note)
            else:
                self._watchers.discard(queue)
                queue.put_nowait(None)


def _clock() -> str:
    return time.strftime("%H:%M:%S")
