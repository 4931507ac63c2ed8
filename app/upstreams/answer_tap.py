"""Where upstreams that are recorded say what they are asked and what comes back."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol

from ..protocol.problems import Problem
from ..recordings.recording import Failure


class AnswerTap(Protocol):
    """Records what comes back after one ask. Nothing is called after `failed`, `refused` or `closed`."""

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


TAP: Final[ContextVar[Callable[[Any], AnswerTap]]] = ContextVar("answer_tap")
"""Makes the tap for an ask of this task, from the body that is posted, or an object. Whoever records sets it."""
