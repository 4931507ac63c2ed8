"""The interface of all upstreams, and the exceptions that they raise."""

from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

from ..protocol.problems import Problem
from ..providers.capabilities import Capabilities
from .causes import Cause, of_problem

AskT_contra = TypeVar("AskT_contra", contravariant=True)
PayloadT_co = TypeVar("PayloadT_co", covariant=True)


TRACE: Final[ContextVar[dict[str, str]]] = ContextVar("trace")
"""Trace headers for the asks of this task. The tracing observer sets them."""


GOES_ON: Final[ContextVar[Callable[[dict[str, Any], int], None]]] = ContextVar("goes_on")
"""Called where an upstream asks its server to go on with an answer: with the ask, and about how many bytes the server
has written by then. Whoever asks the upstream sets it."""


Outage: TypeAlias = Literal["unreached", "unavailable"]
"""`unreached`: no connection could be made. `unavailable`: the server was silent, or is unavailable for now."""


class UpstreamRefused(Exception):  # noqa: N818 — the design's word: it is an answer, and its HTTP status reaches the client
    """The upstream refused, or could not be reached, before its first payload.

    `wait`: the seconds after which asking again may help; None if it cannot. `outage`: the server was not reached, or
    was silent or sent 502, 503, 504 or 529; None after any other answer. `elsewhere`: another upstream may be able to
    answer this request even though the problem is the client's. `timed_out`: no answer was read within the time limit.
    `cause`: what the operator is told; without one, what the problem says.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        wait: float | None = None,
        outage: Outage | None = None,
        elsewhere: bool = False,
        timed_out: bool = False,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.cause = cause or of_problem(problem)
        self.wait = wait
        self.outage = outage
        self.elsewhere = elsewhere
        self.timed_out = timed_out


class NoSuchAddressError(UpstreamRefused):
    """The upstream has no such address (`Addressed.at`). It may be asked at its own."""


class UpstreamBroke(Exception):  # noqa: N818 — as above
    """The upstream broke off after its first payload."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class UpstreamPort(Protocol[AskT_contra, PayloadT_co]):
    """A server that runs a model. The consumer of the generator closes it (`aclosing`)."""

    def open(self, ask: AskT_contra, key: str | None = None) -> AsyncGenerator[PayloadT_co]:
        """Ask, and yield the payloads. Raises `UpstreamRefused` at first `anext`, `UpstreamBroke` later.

        `key` is the caller's own, for this one ask; without it the upstream's is used.
        """
        ...

    async def close(self) -> None:
        """Close all connections, on the event loop on which they were used. The upstream is not used afterwards."""
        ...


AnyUpstream: TypeAlias = UpstreamPort[dict[str, Any], dict[str, Any]]
"""Asks and payloads of every upstream are JSON objects."""


@runtime_checkable
class Knowing(Protocol):
    """An upstream that knows what its models can do."""

    async def capabilities(self, model: str) -> Capabilities:
        """What this model can do. `model` is its name at the upstream."""
        ...

    async def dropped(self, ask: dict[str, Any]) -> list[str]:
        """The settings of this ask that are not sent to the server."""
        ...


def knows(upstream: AnyUpstream) -> TypeGuard[Knowing]:
    """Whether this upstream is a `Knowing` one."""
    return _is_knowing(type(upstream))


@cache
def _is_knowing(kind: type) -> bool:
    return issubclass(kind, Knowing)  # slow, as it compares the names of methods


class Counted(NamedTuple):
    """The number of tokens of an ask."""

    tokens: int
    by_upstream: bool = False
    """Whether the server that runs the model counted them. Otherwise it is an estimate."""


@runtime_checkable
class Counting(Protocol):
    """An upstream that can count the tokens of an ask without answering it."""

    async def count(self, ask: dict[str, Any], key: str | None = None) -> Counted | None:
        """The count; None if the upstream cannot count this ask. Raises `UpstreamRefused` as `open` does."""
        ...


@runtime_checkable
class Shaping(Protocol):
    """An upstream that posts an ask in another shape."""

    def posted(self, ask: dict[str, Any]) -> dict[str, Any]:
        """The body that its server gets for this ask."""
        ...


@runtime_checkable
class Addressed(Protocol):
    """An upstream that may have other addresses, each of which answers with one JSON object."""

    def at(self, path: str) -> AnyUpstream:
        """The same server at the address that is `path` below its own. The upstream closes it."""
        ...
