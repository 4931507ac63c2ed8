"""What is kept of one request to an upstream: when its steps began, and the bytes of the answer."""

import time
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from ..recordings.blotted_bodies import blotted_pieces
from ..upstreams.port import Shape

MOST_RAW: Final = 1024 * 1024
"""Bytes of one answer that are kept as the upstream sent them."""
EACH_PIECE: Final = 64
"""Bytes counted for each piece of it in addition."""
MOST_STEPS: Final = 64
"""Steps of one request that are kept."""
STALL: Final = 2000
"""Milliseconds without data that are shown."""

Outcome: TypeAlias = Literal["running", "answered", "refused", "broke_off", "stopped", "again"]
StepName: TypeAlias = Literal["asking", "connecting", "connected", "answered", "stall"]


class AskStep(NamedTuple):
    """Something that happened, in milliseconds since the turn began."""

    name: StepName
    at: float
    until: float | None = None


class RecordedAsk:
    """One request to an upstream. `count` is told of bytes that are kept; False if the turn is not kept any more."""

    def __init__(self, start: float, count: Callable[[int], bool]) -> None:
        self._start = start
        self._count = count
        self.started = self._now
        self.first: float | None = None
        """When the first byte of the answer came."""
        self.ended: float | None = None
        self.outcome: Outcome = "running"
        self.steps: list[AskStep] = []
        self.shape: Shape | None = None
        """Makes the body that was posted from the ask; None if that is the ask itself."""
        self.bytes = 0
        self._pieces: list[bytes] = []
        self._times: list[float] = []
        self._kept = 0
        self._last = 0.0

    @property
    def _now(self) -> float:
        return round((time.perf_counter() - self._start) * 1000, 2)

    def reached(self, step: StepName) -> None:
        """A step begins."""
        if self.ended is None and len(self.steps) < MOST_STEPS:
            self.steps.append(AskStep(step, self._now))

    def posts(self, shape: Shape) -> None:
        """What is posted is what `shape` makes of the ask."""
        if self.ended is None:
            self.shape = shape

    def received(self, data: bytes) -> None:
        """The upstream has sent these bytes."""
        if self.ended is not None:
            return
        now = self._now
        if self.first is None:
            self.first = now
        elif now - self._last >= STALL and len(self.steps) < MOST_STEPS:
            self.steps.append(AskStep("stall", self._last, now))
        self._last = now
        self.bytes += len(data)
        has_room = self._kept == self.bytes - len(data) and self.bytes <= MOST_RAW
        if has_room and self._count(len(data) + EACH_PIECE):
            self._kept += len(data)
            self._pieces.append(data)
            self._times.append(now)

    def end(self, outcome: Outcome) -> None:
        """It is over, if it was not before."""
        if self.ended is None:
            self.ended, self.outcome = self._now, outcome

    def forget(self) -> None:
        """Forgets the bytes."""
        self._pieces, self._times = [], []
        self._kept = 0

    @property
    def raw(self) -> "RawAnswer | None":
        """The answer as it came; None if it came in another way than over HTTP."""
        if not self.bytes:
            return None
        return RawAnswer(tuple(self._pieces), tuple(self._times), self.bytes, self.bytes - self._kept)


class RawAnswer(NamedTuple):
    """An answer as it came."""

    pieces: tuple[bytes, ...]
    times: tuple[float, ...]
    """When each of them came, in milliseconds since the turn began."""
    bytes: int
    left_out: int

    @property
    def text(self) -> str:
        """It without secrets."""
        return "".join(blotted_pieces([b"".join(self.pieces).decode("utf-8", "replace")]))
