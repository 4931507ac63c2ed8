"""What a turn needs of an upstream, and how asking fails."""

from typing import TYPE_CHECKING, Protocol

from ..types.json import Json
from ..types.problems import Problem

if TYPE_CHECKING:
    from .breaker import Breaker


class UpstreamError(Exception):
    """The upstream refused, or its answer broke. Only before its first payload may another one be asked."""

    def __init__(self, problem: Problem, cause: str = "", *, wait: float | None = None, outage: bool = False) -> None:
        """`cause` is for the operator. `wait`: seconds after which the same may succeed.

        `outage`: the server is not there, whatever it is asked.
        """
        super().__init__(problem.message)
        self.problem = problem
        self.cause = cause or problem.message
        self.wait = wait
        self.outage = outage


class Answer(Protocol):
    """The answer of an upstream."""

    pieces: list[bytes] | None
    """What was read, for the record, if there is one."""

    async def next(self) -> list[Json] | None:
        """The next payloads, perhaps none yet; None at the end. It may be cancelled, and called again.

        Raises `UpstreamError`, also at the end of an answer without a payload.
        """
        ...

    def close(self) -> None:
        """No more is read: a model that is still writing is stopped."""
        ...


class Upstream(Protocol):
    """A model server."""

    breaker: "Breaker"

    async def open(self, body: Json, key: str | None) -> Answer:
        """Ask. Raises `UpstreamError`."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
