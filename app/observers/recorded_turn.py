"""What the inspector's ring buffer keeps of one turn: its notes, its row in the list, and how long each step took."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..emitter.encoded_size import LONG, size_of
from ..json_text import json_bytes
from ..off_loop import SHORT
from ..protocol.events import (
    Event,
    ItemEvent,
    LastEvent,
    LifecycleEvent,
    OutputTextDelta,
    Relayed,
    RelayedItem,
    RelayedLast,
)
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..turns.log import HIDDEN
from ..upstreams.taps import follow
from .first_words import cut
from .in_order import BUSY, Backlog, InOrder
from .kept_notes import Batch, Kept, KeptMessage
from .listed_turn import ListedTurn
from .recorded_ask import AskKind, Outcome, RecordedAsk
from .redaction import ask_left_out, brief, redacted
from .ring import Ring
from .shared_parts import LEAST, SharedParts, pieces_of, pieces_of_json
from .turn_contents import AnswerContents, AskedContents, answer_contents, asked_contents, requested_contents

MOST_REQUEST: Final = 4 * 1024 * 1024
"""Bytes of a request that is kept: most of it is shared with other turns of the conversation."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of one turn that are kept: the requests and the events. Later events are only counted."""
EACH: Final = 512
"""Bytes counted for every event that waits to be kept, in addition to its text."""
EACH_TURN: Final = 4096
"""Bytes counted for every turn, in addition to its notes."""

_encode: Final = msgspec.json.Encoder().encode


class Recorded(ListedTurn):
    """The record of one turn. Long notes are made in threads; their order is kept."""

    def __init__(self, ring: Ring["Recorded"], number: int, fields: Mapping[str, Any], backlog: Backlog) -> None:
        super().__init__(number, fields)
        self._ring = ring
        self._in_order = InOrder(backlog, fields)
        self._start = time.perf_counter()
        self._has_begun = False
        self._room = MOST_BYTES
        self._echoed = 0
        """Bytes of the request that a response may repeat."""
        self._unasked: tuple[dict[str, Any], int] | None = None
        """The request, and its bytes, as long as no upstream was asked."""
        self.kept_for: str | None = None
        """The owner for whom it is kept; None if it is not."""
        self.notes: list[Kept] = []
        self.left_out = 0
        """Events that were not kept."""

    @property
    def owner(self) -> str:
        """`Key.owner` of the caller. Empty before the caller is known, and where no keys are configured."""
        return str(self._fields.get("owner", ""))

    @property
    def head(self) -> bytes:
        """The beginning of each of its notes."""
        return b'{"id":%b,"number":%d,' % (json_bytes(self.id), self.number)

    @property
    def now(self) -> float:
        """Milliseconds since it began."""
        return round((time.perf_counter() - self._start) * 1000, 2)

    def requested(self, request: CreateResponse, *, for_codex: bool, sees_causes: bool) -> None:  # noqa: ARG002 — recordings in folders say so
        """The client's request."""
        self._unasked = request.raw, request.size

    def invalid(self, raw: dict[str, Any], size: int) -> None:
        """What came instead of a valid request."""
        self._unasked = raw, size

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:
        """The client's request, and what this upstream is asked."""
        self._next_ask(upstream)
        self._unasked = None
        more = {"upstream": upstream, "warnings": warnings, "at": self.now, "ask_number": len(self.asks)}
        self._echoed = request.size if request.size <= LONG else 0
        parts = self._parts
        if request.size > MOST_REQUEST or not self._write(
            2 * request.size,  # the ask is about as long
            partial(asked_contents, request, ask, self._fields.get("prompt"), more, parts),
            self._keep_asked,
        ):
            why = "" if request.size > MOST_REQUEST else BUSY
            self._write(
                0, lambda: AskedContents([json_bytes({**brief(request, why), **more})], [], ""), self._keep_asked
            )

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """What this upstream is asked to go on with a paused answer."""
        self._next_ask(upstream, goes_on=True)
        more = {"upstream": upstream, "warnings": [], "at": self.now, "ask_number": len(self.asks), "goes_on": True}
        if size > MOST_REQUEST or not self._add("asked", size, lambda: {"ask": ask, **more}):
            self._add("asked", 0, lambda: {**ask_left_out(size, "" if size > MOST_REQUEST else BUSY), **more})

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """The problem of one upstream. If the client gets it as well, `refused` shows it once more."""
        at = self.now
        self._end_ask("refused")
        self._add("failed", 0, lambda: {"upstream": upstream, "at": at, **redacted(problem.body())})

    def sent(self, events: list[Event]) -> None:
        """The events that are sent."""
        at = self.now
        if self._first_ms is None and any(isinstance(event, ItemEvent | RelayedItem) for event in events):
            self._first_ms = at
            self._ring.changed(self)
        size = sum([self._size_of(event) for event in events])
        has_room = size <= self._room  # encoding more would take long, for nothing
        make = partial(self._batch, at, events, self._parts)
        if not has_room or not self._write(size + EACH * len(events), make, self._keep):
            self.left_out += len(events)
        if events and isinstance(last := events[-1], LastEvent | RelayedLast):
            self._write_unasked()  # or its answer would be known before its place in a conversation
            self._usage = last.response.usage
            self._end_ask("broke_off" if last.response.status == "failed" else "answered")
            self._write(size if size > SHORT else 0, partial(answer_contents, last), self._keep_answer)

    def refused(self, problem: Problem) -> None:
        """The problem that the client gets instead of an answer."""
        self._problem = cut(problem.message)
        at = self.now
        self._add("refused", 0, lambda: {"at": at, "status": problem.shape.status, **redacted(problem.body())})

    def ended(self, fields: Mapping[str, Any]) -> None:
        """The fields of the turn's log line."""
        self._end_ask("stopped")
        shown = {name: value for name, value in fields.items() if name not in HIDDEN}
        if not self._has_begun:
            self._begin()
        self._write_unasked()
        self._write(0, lambda: shown, self._keep_end)

    def forget(self) -> None:
        """Forgets what it holds."""
        self.notes.clear()
        for ask in self.asks:
            ask.forget()

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its log line, once it has ended."""
        return {name: value for name, value in self._fields.items() if name not in HIDDEN} if self._has_ended else {}

    @property
    def steps(self) -> dict[str, float]:
        """When its steps were reached, in milliseconds since it began."""
        return {name: round((at - self._start) * 1000, 2) for name, at in self._fields.get("steps", {}).items()}

    @property
    def _parts(self) -> SharedParts:
        return self._ring.parts_of(self.owner)

    def _size_of(self, event: Event) -> int:
        if type(event) is OutputTextDelta and not event.logprobs:  # as most are
            return len(event.delta)
        repeated = self._echoed if isinstance(event, LifecycleEvent) else 0
        return size_of(event, self._echoed or LONG + 1) + repeated

    def _batch(self, at: float, events: list[Event], parts: SharedParts) -> Batch | None:
        raws = [event.data if isinstance(event, Relayed) else _encode(event) for event in events]
        if sum(map(len, raws)) > self._room:
            self.left_out += len(events)
            return None
        return Batch(at, [raw if len(raw) < LEAST else pieces_of_json(raw, parts) for raw in raws])

    def _write_unasked(self) -> None:
        """Adds the request, if no upstream was asked."""
        if self._unasked is None:
            return
        (raw, size), self._unasked = self._unasked, None
        make = partial(requested_contents, raw, size if size > MOST_REQUEST else 0, self._parts)
        self._write(size if size <= MOST_REQUEST else 0, make, self._keep_request)

    def _keep_asked(self, asked: AskedContents) -> None:
        self._keep_request(asked, "asked")

    def _keep_request(self, asked: AskedContents, name: str = "requested") -> None:
        if self._keep(KeptMessage(name, asked.pieces, asked.parts_of_request)) and self.place is None:
            client = self._fields.get("client")
            name = "" if client is None else client.conversation
            self.place = self._ring.conversations_of(self.owner).began(self.number, asked.items, name)
            self._said = asked.said
        self._ring.changed(self)

    def _keep_answer(self, answer: AnswerContents) -> None:
        self._answer = answer
        if self.place is not None and self._fields.get("finish") != "failed":
            self._ring.conversations_of(self.owner).answered(self.number, answer.items, answer.summaries)
        self._ring.changed(self)

    def _keep_end(self, fields: dict[str, Any]) -> None:
        self._room = MOST_BYTES  # the end is kept, however much was sent before
        self._has_ended = True
        self._keep(KeptMessage("ended", [json_bytes({"fields": fields, "left_out": self.left_out})]))
        self._ring.changed(self)

    def _next_ask(self, upstream: str, *, goes_on: bool = False) -> None:
        self._end_ask("again")
        ask = RecordedAsk(self._start, partial(self._ring.counted, self), upstream, self._kind_of(upstream, goes_on))
        self.asks.append(ask)
        follow(ask)

    def _kind_of(self, upstream: str, goes_on: bool) -> AskKind:  # noqa: FBT001 — it has a name where it is called
        if not self.asks:
            return "ask"
        if goes_on:
            return "going_on"
        before = self.asks[-1]
        if before.outcome != "refused":
            return "second_ask"
        return "again" if before.upstream == upstream else "fallback"

    def _end_ask(self, outcome: Outcome) -> None:
        if self.asks:
            self.asks[-1].end(outcome)

    def _begin(self) -> None:
        """Its first note."""
        self._has_begun = True
        fields = self._fields
        began = {"when": time.strftime("%H:%M:%S"), "model": fields.get("model", ""), "key": fields.get("key", "")}
        self._add("began", 0, lambda: began)
        self._ring.changed(self)

    def _add(self, name: str, size: int, shown: Callable[[], dict[str, Any]]) -> bool:
        """Adds a note about `size` bytes with what `shown` returns. False where too much waits to be kept."""
        parts = self._parts
        return self._write(size, lambda: KeptMessage(name, pieces_of(shown(), parts)), self._keep)

    def _write(self, size: int, make: Callable[[], Any], use: Callable[[Any], object]) -> bool:
        if not self._has_begun:
            self._begin()
        return self._in_order.write(size, make, use)

    def _keep(self, note: Kept | None) -> bool:
        if note is None:
            return False
        size = note.own_size
        if size > self._room:
            self.left_out += len(note.events) if isinstance(note, Batch) else 0
            return False
        self._room -= size
        return self._ring.publish(self, note, size)
