"""The record of the last turns, by reference to bytes that exist anyway: nothing is encoded, hashed or copied."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from ..settings.tables import Caller
from ..types.problems import Problem
from ..types.redact import redacted
from ..upstreams.port import AskRecord

if TYPE_CHECKING:
    from ..turns.turn import Turn
    from .shown import Facts

_MOST_BYTES = 128 * 1024 * 1024
_OBJECT = 160
"""Bytes that a list counts for each of its pieces: they are objects (the bytes, their time, both together)."""
_TURN = 4000
"""The same for each turn, with what is found out about it when somebody looks."""


@dataclass(slots=True, eq=False)
class Kept:
    """What is kept of a turn, or of a request that was refused before it."""

    number: int
    owner: str
    """The only one who may see it."""
    body: bytes
    """As it was posted."""
    started: float
    """By the clock of its other times."""
    fields: dict[str, Any]
    """Those of its line in the log; while it runs, only what it is."""
    asks: list[AskRecord] = field(default_factory=list)
    sent: list[tuple[float, bytes]] = field(default_factory=list)
    """What the client got, and when."""
    runs: bool = False
    problem: Problem | None = None
    began: float = field(default_factory=time.time)
    size: int = 0
    facts: "Facts | None" = None
    """What the inspector has found out about it."""

    def end(self) -> None:
        """It is over."""
        self.runs = False
        self.size = _TURN + len(self.body) + sum([_OBJECT + len(piece) for _, piece in self.sent])
        for ask in self.asks:
            self.size += len(ask.body) + sum([_OBJECT + len(piece) for _, piece in ask.pieces])


class Record:
    """The turns that run, whole, and the last ones that have ended, as many as fit."""

    def __init__(self, turns: int, write: Callable[[Kept], None] | None = None) -> None:
        """`write` is called with each turn that has ended."""
        self._most = turns
        self._write = write
        self.keeps = turns > 0
        """Whether turns are kept."""
        self.notes = self.keeps or write is not None
        """Whether turns are kept or written."""
        self._number = count(1).__next__
        self._kept: dict[int, Kept] = {}
        self._running: dict[Turn, Kept] = {}
        self._ended = 0
        self._size = 0
        self.watchers: set[asyncio.Event] = set()
        """They are set at every change."""

    def of(self, owner: str) -> list[Kept]:
        """The turns of this caller, oldest first."""
        return [kept for kept in self._kept.values() if kept.owner == owner]

    def begin(self, turn: "Turn", caller: Caller, body: bytes) -> None:
        """A turn begins."""
        if turn.asks is None or turn.sent is None:
            return
        fields = redacted({"request_id": turn.request_id, "key": caller.name, "model": turn.request.model})
        began = turn.signals.began
        kept = Kept(self._number(), caller.owner, body, began, fields, turn.asks, turn.sent, runs=True)
        self._running[turn] = kept
        if self.keeps:
            self._kept[kept.number] = kept
            self.wake()

    def end(self, turn: "Turn", fields: dict[str, Any]) -> None:
        """A turn has ended, with these fields in the log."""
        if (kept := self._running.pop(turn, None)) is not None:
            kept.fields, kept.problem = fields, turn.problem
            self._over(kept)

    def refused(self, caller: Caller, body: bytes, fields: dict[str, Any], problem: Problem) -> None:
        """A request was refused before there was a turn."""
        if self.notes and not caller.is_guest:
            self._over(Kept(self._number(), caller.owner, body, time.monotonic(), fields, problem=problem))

    def wake(self) -> None:
        """Wakes who watches."""
        for watcher in self.watchers:
            watcher.set()

    def _over(self, kept: Kept) -> None:
        kept.end()
        if self._write is not None:
            self._write(kept)
        if not self.keeps:
            return
        self._kept[kept.number] = kept
        self._ended += 1
        self._size += kept.size
        while self._ended > self._most or (self._size > _MOST_BYTES and self._ended > 1):
            oldest = next(each for each in self._kept.values() if not each.runs)
            del self._kept[oldest.number]
            self._ended -= 1
            self._size -= oldest.size
        self.wake()
