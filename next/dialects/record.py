"""What a dialect is: a record that the catalogue holds. Nothing else asks in which dialect a model is."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..emitter.deltas import Delta
from ..prompt.nouns import Model, Prompt
from ..prompt.state import StateForm
from ..types.json import Json
from ..types.problems import Warning


class NotAnAnswerError(Exception):
    """The bytes of an answer are not in the form of this API: a phrase that says why."""

    before: Sequence[Json] = ()
    """The payloads before these bytes."""


class Frames(Protocol):
    """Reads the bytes of one answer."""

    done: bool
    """The answer is complete: nothing behind it is read."""

    def feed(self, piece: bytes) -> list[Json]:
        """The payloads that end in this piece. Raises `NotAnAnswerError`."""
        ...

    def end(self) -> list[Json]:
        """The payloads that are left when no more bytes come."""
        ...

    def go_on(self) -> Json | None:
        """At the end: the body to be posted for the rest of an answer that its server paused, which is then read on."""
        ...


class Reader(Protocol):
    """Reads the payloads of one answer."""

    written: int
    """Characters that the model has written."""

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        ...

    @property
    def left_out(self) -> Sequence[Warning]:
        """What else of the answer cannot be sent."""
        ...

    def read(self, payload: Json) -> list[Delta]:
        """The deltas in one payload."""
        ...

    def rest(self) -> list[Delta]:
        """The deltas that were held back, at the end."""
        ...


def _no_headers(_body: Json, _betas: Sequence[str]) -> dict[str, str]:
    return {}


class Counter(NamedTuple):
    """An address at which servers of an API count the tokens of a body."""

    path: str
    """Behind the base URL."""
    field: str
    """Of the count in the answer."""
    body: Callable[[Json], Json]
    """What is posted there, of the body of a turn."""
    beside_v1: bool = False
    """The address is not below the `/v1` of the base URL."""
    is_sure: bool = False
    """Servers of this API count: that one fails is told to the client. Otherwise the tokens are estimated."""


class Relay(NamedTuple):
    """The API of model servers that have the Responses API themselves: what they say is passed on."""

    path: str
    frames: Callable[[Json], Frames]
    failure: Callable[[Json], Any]
    tokens: Callable[[Json], int]
    exchange: Callable[..., Any]
    """Makes what `Exchange` is for the others."""
    counters: tuple[Counter, ...] = ()
    headers: Callable[[Json, Sequence[str]], dict[str, str]] = _no_headers
    models: str = "/models"


class Dialect(NamedTuple):
    """One API of model servers."""

    path: str
    """Behind the base URL."""
    body: Callable[[Prompt, Model], tuple[Json, list[Warning]]]
    """What is posted, and warnings about what this API cannot be told."""
    frames: Callable[[Json], Frames]
    """What reads the answer to this body."""
    reader: Callable[[Prompt, Model, bool], Reader]
    """The reader of an answer. The last parameter: whether it reads provider state."""
    failure: Callable[[Json], Any]
    """The error that a payload is; None for any other payload."""
    tokens: Callable[[Json], int]
    """Estimated tokens of a body, for servers that report no usage."""
    state: StateForm
    """How it writes provider state."""
    counters: tuple[Counter, ...] = ()
    headers: Callable[[Json, Sequence[str]], dict[str, str]] = _no_headers
    """Headers of its own, for a body and the beta features that the operator wants."""
    models: str = "/models"
    """The path of its list of models."""
