"""What comes back after one request to an upstream, as it is kept for a recording."""

from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from ..json_text import json_bytes, json_value
from ..protocol.problems import Problem
from ..recordings.recording import Arrival, Failure

HEADERS: Final = frozenset({"content-type", "retry-after", "retry-after-ms"})
"""Headers of an answer that are kept."""


class Piece(NamedTuple):
    """A piece of a body, with its time."""

    at: float
    data: bytes


Came: TypeAlias = Arrival | Piece


class Arrivals(ABC):
    """An `AnswerTap` that keeps what it is told."""

    def __init__(self) -> None:
        self.came: list[Came] = []

    @property
    @abstractmethod
    def now(self) -> float:
        """Milliseconds since the turn began."""

    @abstractmethod
    def take(self, size: int) -> bool:
        """Takes room for one more of `size` bytes. False if there is none."""

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """An HTTP answer begins."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in HEADERS}
        self.add(Arrival(at=self.now, status=status, headers=kept))

    def piece(self, data: bytes) -> None:
        """A piece of its body."""
        if self.take(len(data)):
            self.came.append(Piece(self.now, data))

    def chunk(self, chunk: Any) -> None:
        """A chunk. It is encoded at once, because others may change it."""
        data = json_bytes(chunk)
        self.add(Arrival(at=self.now, chunk=msgspec.Raw(data)), len(data))

    def refused(self, problem: Problem, more: Mapping[str, Any]) -> None:
        """The upstream refused or broke off."""
        self.add(Arrival(at=self.now, problem={**msgspec.to_builtins(problem), **more}))

    def failed(self, failure: Failure) -> None:
        """The connection failed."""
        self.add(Arrival(at=self.now, failed=failure))

    def closed(self) -> None:
        """The rest of the answer is not read."""
        self.add(Arrival(at=self.now, closed=True))

    def add(self, arrival: Arrival, size: int = 0) -> None:
        """Keeps this, if there is room."""
        if self.take(size):
            self.came.append(arrival)


def arrivals_of(came: Sequence[Came]) -> list[Arrival]:
    """It as a recording has it. A character whose bytes came in two pieces belongs to the later one."""
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    last = max((number for number, each in enumerate(came) if isinstance(each, Piece)), default=-1)
    arrivals: list[Arrival] = []
    for number, each in enumerate(came):
        if isinstance(each, Piece):
            arrivals.append(Arrival(at=each.at, text=decoder.decode(each.data, final=number == last)))
        elif each.chunk is not None:
            arrivals.append(msgspec.structs.replace(each, chunk=json_value(bytes(each.chunk))))
        else:
            arrivals.append(each)
    return arrivals
