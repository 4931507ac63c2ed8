"""Where upstreams say what they are asked and what comes back: to the inspector, and to recordings."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias

from ..protocol.problems import Problem
from ..recordings.recording import Failure

Shape: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes the body that a server gets from an ask."""


class AnswerTap(Protocol):
    """Follows what comes back after one request. Nothing is called after `failed`, `refused` or `closed`."""

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """An HTTP answer begins."""
        ...

    def piece(self, data: bytes) -> None:
        """A piece of its body."""
        ...

    def chunk(self, chunk: Any) -> None:
        """A chunk of an upstream that is not asked by HTTP here."""
        ...

    def refused(self, problem: Problem, more: Mapping[str, Any]) -> None:
        """Such an upstream refused, or broke off; `more` is what an `UpstreamRefused` says besides."""
        ...

    def failed(self, failure: Failure) -> None:
        """The connection failed."""
        ...

    def closed(self) -> None:
        """The rest of the answer is not read."""
        ...


class AskTap(Protocol):
    """Follows one ask: each request that is made for it, of which there are several if the first ones fail."""

    def requested(self, body: Any) -> AnswerTap:
        """A request is made with this body, or with this object where a library makes the body."""
        ...

    def connects(self, *, has_connected: bool) -> None:
        """A new connection is begun for it, or is there."""
        ...

    def posts(self, shape: Shape) -> None:
        """What is posted is not the ask itself, but what `shape` makes of it."""
        ...

    def library_read(self, data: bytes) -> None:
        """A library has read these bytes of an answer. The chunks that it makes of them follow."""
        ...


TAPS: Final[ContextVar[tuple[AskTap, ...]]] = ContextVar("ask_taps", default=())
"""Those that follow the ask of this task."""


def follow(tap: AskTap) -> None:
    """From now on this one, too, follows the ask of this task. Whoever asks forgets those of the ask before."""
    TAPS.set((*TAPS.get(), tap))


def tapped(body: Any) -> list[AnswerTap]:
    """Says that a request is made with this body. Returns those that follow its answer: none if nobody does."""
    return [tap.requested(body) for tap in TAPS.get()]


def posts(shape: Shape) -> None:
    """Says that what is posted is what `shape` makes of the ask."""
    for tap in TAPS.get():
        tap.posts(shape)


def connects(has_connected: bool) -> None:  # noqa: FBT001 — a plain callback
    """Says that a new connection is begun for the ask, or is there."""
    for tap in TAPS.get():
        tap.connects(has_connected=has_connected)
