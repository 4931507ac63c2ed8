"""What every upstream offers: open an ask, yield its payloads. And the two ways in which it can go wrong."""

from collections.abc import AsyncGenerator
from contextvars import ContextVar
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from app.protocol.problems import Problem
from app.providers.capabilities import Capabilities

AskT_contra = TypeVar("AskT_contra", contravariant=True)
PayloadT_co = TypeVar("PayloadT_co", covariant=True)


TRACE: Final[ContextVar[dict[str, str]]] = ContextVar("trace")
"""Headers that go out with the asks of this task: where they stand in a trace. Whoever traces sets them."""


class Keep(NamedTuple):
    """How many idle connections to a server are kept, and for how many seconds."""

    connections: int = 32
    seconds: float = 60


KEEP: Final = Keep()
"""What is kept unless told otherwise."""


Outage: TypeAlias = Literal["unreached", "unavailable"]
"""No connection to the server could be made; or it was silent, or said that it is away for now."""


class UpstreamRefused(Exception):  # noqa: N818 — the design's word: it is an answer, and its HTTP status reaches the client
    """The upstream said no, or could not be reached, before its first payload.

    `wait`: the seconds after which asking again may help, where it may at all. `outage`: the server was not reached, or
    was silent or said 502, 503, 504 or 529; None after any other answer. `elsewhere`: another upstream may be able to
    answer this request even though the problem is the client's. `timed_out`: no answer was read in the time given.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        wait: float | None = None,
        outage: Outage | None = None,
        elsewhere: bool = False,
        timed_out: bool = False,
    ) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.wait = wait
        self.outage = outage
        self.elsewhere = elsewhere
        self.timed_out = timed_out

    def with_problem(self, problem: Problem) -> "UpstreamRefused":
        """The same with another problem."""
        return type(self)(
            problem, wait=self.wait, outage=self.outage, elsewhere=self.elsewhere, timed_out=self.timed_out
        )


class NoSuchAddressError(UpstreamRefused):
    """The upstream has no such address (`Addressed.at`). It may be asked at its own."""


class UpstreamBroke(Exception):  # noqa: N818 — as above
    """The upstream broke off after its first payload."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class UpstreamPort(Protocol[AskT_contra, PayloadT_co]):
    """A server that runs a model. Whoever consumes the generator closes it (`aclosing`)."""

    def open(self, ask: AskT_contra, key: str | None = None) -> AsyncGenerator[PayloadT_co]:
        """Ask, and yield what comes back. Raises `UpstreamRefused` at first `anext`, `UpstreamBroke` later.

        `key` is the caller's own, for this one ask; without it the upstream's is used.
        """
        ...

    async def close(self) -> None:
        """Close what this upstream keeps open, on the event loop it was used on. Nothing is asked of it afterwards."""
        ...


AnyUpstream: TypeAlias = UpstreamPort[dict[str, Any], dict[str, Any]]
"""Every upstream takes and gives JSON objects."""


@runtime_checkable
class Knowing(Protocol):
    """An upstream that knows something of the models behind it."""

    async def capabilities(self, model: str) -> Capabilities:
        """What is known of this model, by its name upstream."""
        ...

    async def dropped(self, ask: dict[str, Any]) -> list[str]:
        """The settings of this ask that are left out on the way."""
        ...


class Counted(NamedTuple):
    """How long an ask is."""

    tokens: int
    by_upstream: bool = False
    """Whether the server that runs the model counted it. Anything else is an estimate."""


@runtime_checkable
class Counting(Protocol):
    """An upstream that can say how long an ask is without answering it."""

    async def count(self, ask: dict[str, Any], key: str | None = None) -> Counted | None:
        """The length; None where it cannot be told after all. Raises `UpstreamRefused` as `open` does."""
        ...


@runtime_checkable
class Addressed(Protocol):
    """An upstream that may have other addresses, each of which answers with one JSON object."""

    def at(self, path: str) -> UpstreamPort[dict[str, Any], dict[str, Any]]:
        """The same server at the address that is `path` below its own. The upstream closes it."""
        ...
