"""What is kept of one ask: the requests that were made for it, when their steps began, and what came back."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..protocol.problems import Problem
from ..recordings.blotted_bodies import blotted_pieces
from ..recordings.recording import Failure
from ..upstreams.taps import Shape
from .arrivals import Arrivals, Came, Piece

MOST_RAW: Final = 1024 * 1024
"""Bytes of one answer that are kept as the upstream sent them, and as many of the chunks that a library made of it."""
EACH_PIECE: Final = 64
"""Bytes counted for each piece of it in addition."""
MOST_STEPS: Final = 64
"""Steps of one ask that are kept."""
STALL: Final = 2000
"""Milliseconds without data that are shown."""

Outcome: TypeAlias = Literal["running", "answered", "refused", "broke_off", "stopped", "again"]
AskKind: TypeAlias = Literal["ask", "again", "fallback", "second_ask", "going_on"]
"""The first one, or one that follows another: of the same upstream that refused, of another one, of an answer that was
not the end, or to go on with a paused answer."""
StepName: TypeAlias = Literal["asking", "connecting", "connected", "answered", "stall"]


class AskStep(NamedTuple):
    """Something that happened, in milliseconds since the turn began."""

    name: StepName
    at: float
    until: float | None = None


class AskTimes(NamedTuple):
    """When the parts of one ask began."""

    started: float
    first: float | None
    ended: float | None
    steps: Sequence[AskStep]
    kind: AskKind = "ask"


class _Room:
    """Bytes that may be kept of what belongs together: nothing is kept after something that was left out."""

    def __init__(self, count: Callable[[int], bool]) -> None:
        self._count = count
        self.is_full = False
        self._kept = 0
        self.left_out = 0
        """Bytes that are not kept."""

    def take(self, size: int) -> bool:
        """Takes room for so many bytes."""
        if self.is_full or self._kept + size > MOST_RAW or not self._count(size + EACH_PIECE):
            self.is_full = True
            self.left_out += size
        else:
            self._kept += size
        return not self.is_full


class RecordedTry(Arrivals):
    """One request that was made for an ask, and what came back."""

    def __init__(self, ask: "RecordedAsk", shape: Shape | None) -> None:
        super().__init__()
        self._ask = ask
        self.shape = shape
        self.read: list[bytes] = []
        """What a library read."""

    @property
    def now(self) -> float:
        """Milliseconds since the turn began."""
        return self._ask.now

    def take(self, size: int) -> bool:
        """Whether it is kept."""
        return self._ask.ended is None and self._ask.room.take(size)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """An HTTP answer begins."""
        self._ask.step("answered")
        super().head(status, headers)

    def piece(self, data: bytes) -> None:
        """A piece of its body."""
        ask = self._ask
        if ask.ended is None:
            at = ask.heard()
            if ask.room.take(len(data)):
                self.came.append(Piece(at, data))

    def chunk(self, chunk: Any) -> None:
        """A chunk of an answer that a library reads."""
        if self._ask.ended is None:
            self._ask.heard()
            super().chunk(chunk)

    def refused(self, problem: Problem, more: Mapping[str, Any]) -> None:
        """The upstream refused or broke off."""
        self._ask.step("answered")
        super().refused(problem, more)

    def failed(self, failure: Failure) -> None:
        """The connection failed."""
        self._ask.step("answered")
        super().failed(failure)


class RecordedAsk:
    """One ask of an upstream. `count` is told of bytes that are kept; False if the turn is not kept any more."""

    def __init__(self, start: float, count: Callable[[int], bool], upstream: str = "", kind: AskKind = "ask") -> None:
        self._start = start
        self.upstream = upstream
        self.kind: AskKind = kind
        self.started = self.now
        self.first: float | None = None
        """When the first of the answer came."""
        self.ended: float | None = None
        self.outcome: Outcome = "running"
        self.steps: list[AskStep] = []
        self.tries: list[RecordedTry] = []
        self.room = _Room(count)
        self._shape: Shape | None = None
        self._room_of_read = _Room(count)
        self._last = 0.0

    @property
    def now(self) -> float:
        """Milliseconds since the turn began."""
        return round((time.perf_counter() - self._start) * 1000, 2)

    def requested(self, body: Any) -> RecordedTry:  # noqa: ARG002 — the ask is kept, of which it is made
        """A request is made."""
        self.step("asking")
        if self.ended is None:
            self.first = None  # what came before was of a request that failed
        made = RecordedTry(self, self._shape)
        if self.ended is None and len(self.tries) < MOST_STEPS:
            self.tries.append(made)
        return made

    def connects(self, *, has_connected: bool) -> None:
        """A new connection is begun, or is there."""
        self.step("connected" if has_connected else "connecting")

    def posts(self, shape: Shape) -> None:
        """What is posted is what `shape` makes of the ask."""
        self._shape = shape

    def library_read(self, data: bytes) -> None:
        """A library has read these bytes."""
        if self.ended is None:
            self.heard()
            if self.tries and self._room_of_read.take(len(data)):
                self.tries[-1].read.append(data)

    def step(self, name: StepName) -> None:
        """A step begins."""
        if self.ended is None and len(self.steps) < MOST_STEPS:
            self.steps.append(AskStep(name, self.now))

    def heard(self) -> float:
        """The upstream has sent something now."""
        now = self.now
        if self.first is None:
            self.first = now
        elif now - self._last >= STALL and self._is_silent(now):
            self.steps.append(AskStep("stall", self._last, now))
        self._last = now
        return now

    def end(self, outcome: Outcome) -> None:
        """It is over, if it was not before."""
        if self.ended is None:
            now = self.now
            if outcome in {"broke_off", "stopped"} and self._is_silent(now):
                self.steps.append(AskStep("stall", self._last, now))
            self.ended, self.outcome = now, outcome

    @property
    def times(self) -> AskTimes:
        """When its parts began. A silence that lasts has no end."""
        lasting = [AskStep("stall", self._last)] if self.ended is None and self._is_silent(self.now) else []
        return AskTimes(self.started, self.first, self.ended, (*self.steps, *lasting), self.kind)

    def _is_silent(self, now: float) -> bool:
        return self.first is not None and now - self._last >= STALL and len(self.steps) < MOST_STEPS

    def forget(self) -> None:
        """Forgets what came back."""
        self.tries = []

    @property
    def made(self) -> "MadeRequests":
        """The requests that were made so far."""
        made = tuple(MadeRequest(each.shape, tuple(each.came), tuple(each.read)) for each in self.tries)
        return MadeRequests(made, self.room.left_out, self._room_of_read.left_out)


class KeptBytes(NamedTuple):
    """What an upstream sent."""

    pieces: Sequence[bytes]
    left_out: int
    """Bytes of it that are not kept."""

    @property
    def shown(self) -> dict[str, Any]:
        """It without secrets, for JSON."""
        data = b"".join(self.pieces)
        text = "".join(blotted_pieces([data.decode("utf-8", "replace")]))
        return {"text": text, "bytes": len(data) + self.left_out, "left_out": self.left_out}


class MadeRequest(NamedTuple):
    """A request that was made for an ask."""

    shape: Shape | None
    """Makes the body that was posted from the ask; None if that is the ask itself."""
    came: Sequence[Came]
    read: Sequence[bytes]
    """What a library read."""

    def raw(self, left_out: int = 0) -> KeptBytes | None:
        """The answer as it came; None if nothing came over HTTP."""
        pieces = [each.data for each in self.came if isinstance(each, Piece)] or self.read
        return KeptBytes(pieces, left_out) if pieces or left_out else None

    @property
    def chunks(self) -> list[bytes]:
        """The chunks of an answer that is not read over HTTP by this server itself, as events."""
        chunks = [each.chunk for each in self.came if not isinstance(each, Piece) and each.chunk is not None]
        return [b"data: %b\n\n" % bytes(chunk) for chunk in chunks]

    @property
    def shown(self) -> dict[str, Any]:
        """It in short, for one that failed."""
        arrivals = [each for each in self.came if not isinstance(each, Piece)]
        raw = self.raw()
        return {
            "status": next((each.status for each in arrivals if each.status is not None), None),
            "failed": next((each.failed for each in arrivals if each.failed is not None), None),
            "raw": None if raw is None else raw.shown,
        }


class MadeRequests(NamedTuple):
    """The requests that were made for one ask, and what came back, at one moment."""

    tries: tuple[MadeRequest, ...]
    left_out: int
    """Bytes of answers that are not kept."""
    read_left_out: int
    """The same of what a library read."""

    @property
    def shown(self) -> dict[str, Any]:
        """What came back after the last one, and those before it, which failed."""
        if not self.tries:
            return {"raw": None, "chunks": None, "failed_tries": []}
        *before, last = self.tries
        chunks = last.chunks
        raw = last.raw(self.read_left_out if chunks else self.left_out)
        return {
            "raw": None if raw is None else raw.shown,
            "chunks": KeptBytes(chunks, self.left_out).shown if chunks else None,
            "failed_tries": [each.shown for each in before],
        }
