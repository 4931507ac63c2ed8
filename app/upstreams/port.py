"""What a turn needs of an upstream, and how asking fails."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..prompt.nouns import Model
from ..types.json import Json
from ..types.problems import Problem
from .model_list import ListedModel


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


class LeftAloneError(UpstreamError):
    """The upstream was not asked, because it failed again and again."""


@dataclass(eq=False, slots=True)
class AskRecord:
    """What an upstream was asked and what it sent, for the record: bytes that exist anyway."""

    upstream: str
    model: str
    """Its name there."""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    """When it was refused."""
    body: bytes = b""
    status: int | None = None
    """Of an HTTP answer that is an error."""
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    """What was read, and when."""
    problem: Problem | None = None
    cause: str = ""

    def refused(self, error: UpstreamError) -> None:
        """It ended before its first payload."""
        self.ended, self.problem, self.cause = time.monotonic(), error.problem, error.cause


class Answer(Protocol):
    """The answer of an upstream."""

    async def next(self) -> list[Json] | None:
        """The next payloads, perhaps none yet; None at the end. It may be cancelled, and called again.

        Raises `UpstreamError`.
        """
        ...

    def close(self) -> None:
        """No more is read: a model that is still writing is stopped."""
        ...


_PAUSE = 30
"""Seconds."""


class Breaker:
    """The breaker of one upstream."""

    def __init__(self, most: int) -> None:
        """`most`: outages in a row that open it; 0: none do."""
        self._most = most
        self._outages = 0
        self._opened = 0.0
        self._cause = ""

    @property
    def is_open(self) -> bool:
        """Whether the upstream is left alone, or tried."""
        return 0 < self._most <= self._outages

    def check(self) -> None:
        """Raises `UpstreamError` where no turn may ask. Who may ask after the pause is the only one until the next."""
        if not self.is_open:
            return
        now = time.monotonic()
        left = self._opened + _PAUSE - now
        if left <= 0:
            self._opened = now
            return
        words = "The model's server failed again and again, and is left alone for a while."
        raise LeftAloneError(Problem("overloaded", words, retry_after=int(left) + 1), self._cause)

    def failed(self, error: UpstreamError) -> None:
        """An ask was refused. A refusal of a server that is there ends the row."""
        self._outages = self._outages + 1 if error.outage else 0
        self._cause = error.cause
        self._opened = time.monotonic()

    def answered(self) -> None:
        """An ask was answered."""
        self._outages = 0


class Upstream(ABC):
    """A model server. What most kinds cannot say is said here."""

    def __init__(self, breaker_failures: int) -> None:
        self.breaker = Breaker(breaker_failures)

    @property
    def is_ready(self) -> bool:
        """Whether it knows its models at once."""
        return True

    @abstractmethod
    async def open(self, body: Json, key: str | None, headers: Mapping[str, str], record: AskRecord | None) -> Answer:
        """Ask, with these headers, too. Raises `UpstreamError`."""

    async def known(self, model: Model) -> Model:
        """The model, with what only this upstream knows of it."""
        return model

    async def count(self, body: Json, key: str | None) -> int | None:
        """The tokens of this body; None if it cannot say. Raises `UpstreamError`."""
        return None

    async def compact(self, body: Json, key: str | None) -> Json | None:
        """The compaction of the conversation in this body; None if it makes none. Raises `UpstreamError`."""
        return None

    async def models(self, key: str | None) -> list[ListedModel]:
        """The models that it lists, none if it cannot say."""
        return []

    async def close(self) -> None:  # noqa: B027 — most have nothing to close
        """Close every connection."""
