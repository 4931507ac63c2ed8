"""What a turn needs of an upstream, and how asking fails."""

from typing import Any, Protocol

from ..types.problems import Problem

Json = dict[str, Any]


class Refused(Exception):
    """The upstream gave no first payload: nothing of its answer was seen."""

    def __init__(self, problem: Problem, *, wait: float | None = None, outage: bool = False, cause: str = "") -> None:
        """`wait`: seconds after which the same may succeed; `outage`: the server is not there, whatever it is asked.

        `cause` is for the operator.
        """
        super().__init__(problem.message)
        self.problem = problem
        self.wait = wait
        self.outage = outage
        self.cause = cause


class Broken(Exception):
    """The answer broke after its first payload."""

    def __init__(self, problem: Problem, *, cause: str = "") -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.cause = cause


class Answer(Protocol):
    """The answer of an upstream."""

    pieces: list[bytes] | None
    """What was read, for the record, if there is one."""

    async def next(self) -> list[Json] | None:
        """The next payloads, perhaps none yet; None at the end. It may be cancelled, and called again.

        Raises `Broken`.
        """
        ...

    def close(self) -> None:
        """No more is read: a model that is still writing is stopped."""
        ...


class Upstream(Protocol):
    """A model server."""

    async def open(self, body: Json, key: str | None) -> Answer:
        """Ask. Raises `Refused`."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
