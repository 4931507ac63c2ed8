"""The record of the last turns, by reference to bytes that exist anyway: nothing is encoded, hashed or copied."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..settings.tables import Caller
from ..types.problems import Problem
from ..upstreams.port import AskRecord
from .log import fields_of

if TYPE_CHECKING:
    from ..turns.turn import Turn

_MOST_BYTES = 128 * 1024 * 1024
_OBJECT = 160
"""Bytes that a list counts for each of its pieces: they are objects (the bytes, their time, both together)."""
_TURN = 4000
"""The same for each turn, with what is found out about it when somebody looks."""


class Kept:
    """What is kept of a turn, or of a request that was refused before it."""

    __slots__ = (
        "asks",
        "began",
        "body",
        "facts",
        "fields",
        "number",
        "owner",
        "problem",
        "sent",
        "size",
        "started",
        "turn",
    )

    def __init__(self, number: int, owner: str, body: bytes, turn: "Turn | None") -> None:
        self.number = number
        self.owner = owner
        """The only one who may see it."""
        self.body = body
        """As it was posted."""
        self.turn = turn
        """While it runs."""
        self.began = time.time()
        self.started = time.monotonic() if turn is None else turn.signals.began
        self.asks: list[AskRecord] = [] if turn is None or turn.asks is None else turn.asks
        self.sent: list[tuple[float, bytes]] = [] if turn is None or turn.sent is None else turn.sent
        """What the client got, and when."""
        self.fields: dict[str, Any] = {}
        """Those of its line in the log, when it has ended."""
        self.problem: Problem | None = None
        self.size = 0
        self.facts: Any = None
        """What the inspector has found out about it."""

    def end(self, fields: dict[str, Any], problem: Problem | None) -> None:
        """It is over: of the turn itself nothing lives on."""
        self.fields, self.problem, self.turn, self.facts = fields, problem, None, None
        self.size = _TURN + len(self.body) + sum([_OBJECT + len(piece) for _, piece in self.sent])
        for ask in self.asks:
            self.size += len(ask.body) + sum([_OBJECT + len(piece) for _, piece in ask.pieces])


class Record:
    """The turns that run, and the last ones that have ended, as many as fit."""

    def __init__(self, turns: int, write: Callable[[Kept], None] | None = None) -> None:
        """`write` is called with each turn that has ended."""
        self._most = turns
        self._write = write
        self._last = 0
        self._kept: dict[int, Kept] = {}
        self._running: dict[Turn, Kept] = {}
        self._ended = 0
        self._size = 0
        self._watchers: set[asyncio.Event] = set()

    @property
    def keeps(self) -> bool:
        """Whether turns are kept."""
        return self._most > 0

    @property
    def notes(self) -> bool:
        """Whether turns are kept or written."""
        return self.keeps or self._write is not None

    def of(self, owner: str) -> list[Kept]:
        """The turns of this caller, oldest first."""
        return [kept for kept in self._kept.values() if kept.owner == owner]

    def begin(self, turn: "Turn", caller: Caller, body: bytes) -> None:
        """A turn begins."""
        if turn.asks is not None:
            self._running[turn] = kept = self._add(caller.owner, body, turn)
            kept.fields = {"request_id": turn.request_id, "key": caller.name, "model": turn.request.model}

    def end(self, turn: "Turn", caller: Caller, took: float) -> None:
        """A turn has ended."""
        if (kept := self._running.pop(turn, None)) is not None:
            self._over(kept, fields_of(turn, caller, took), turn.problem)

    def refused(self, request_id: str, caller: Caller, body: bytes, problem: Problem) -> None:
        """A request was refused before there was a turn."""
        if self.notes and not caller.is_guest:
            fields = {"request_id": request_id, "key": caller.name, "finish": "refused"}
            told = {"status": problem.status, "error": problem.code, "cause": problem.message}
            self._over(self._add(caller.owner, body, None), {**fields, **told}, problem)

    def watch(self) -> asyncio.Event:
        """An event that is set at every change, until `unwatch`."""
        event = asyncio.Event()
        self._watchers.add(event)
        return event

    def unwatch(self, event: asyncio.Event) -> None:
        """It is not set any more."""
        self._watchers.discard(event)

    def wake(self) -> None:
        """Wakes who watches."""
        for watcher in self._watchers:
            watcher.set()

    def _add(self, owner: str, body: bytes, turn: "Turn | None") -> Kept:
        self._last += 1
        kept = Kept(self._last, owner, body, turn)
        if self.keeps:
            self._kept[kept.number] = kept
            self.wake()
        return kept

    def _over(self, kept: Kept, fields: dict[str, Any], problem: Problem | None) -> None:
        kept.end(fields, problem)
        if self._write is not None:
            self._write(kept)
        if not self.keeps:
            return
        self._ended += 1
        self._size += kept.size
        while self._ended > self._most or (self._size > _MOST_BYTES and self._ended > 1):
            oldest = next(each for each in self._kept.values() if each.turn is None)
            del self._kept[oldest.number]
            self._ended -= 1
            self._size -= oldest.size
        self.wake()
