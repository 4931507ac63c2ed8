"""What a dialect is: a record that the catalogue holds, one for each `via`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from ..emitter.deltas import Deltas
from ..prompt.nouns import Model, Prompt
from ..prompt.state import StateForm
from ..types.json import Json
from ..types.problems import Warnings
from .frames import Frames
from .usage import tokens_in


class Reader(Protocol):
    """Reads the payloads of one answer."""

    written: int
    """Characters that the model has written."""

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        ...

    @property
    def left_out(self) -> Sequence[str]:
        """What else of the answer cannot be sent."""
        ...

    def read(self, payload: Json) -> Deltas:
        """The deltas in one payload."""
        ...

    def rest(self) -> Deltas:
        """The deltas that were held back, at the end."""
        ...


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
    """Servers of this API count: what one refuses is told to the client. Otherwise the tokens are estimated."""


class Translation(NamedTuple):
    """How a prompt becomes a body of this API, and the payloads of an answer become deltas."""

    body: Callable[[Prompt, Model], tuple[Json, Warnings]]
    """What is posted, and warnings about what this API cannot be told."""
    reader: Callable[[Prompt, Model, bool], Reader]
    """The reader of an answer. The last parameter: whether it reads provider state."""
    state: StateForm
    """How provider state is written."""


class Dialect(NamedTuple):
    """One API of model servers."""

    path: str
    """Behind the base URL."""
    frames: Callable[[Json], Frames]
    """What reads the answer to this body."""
    failure: Callable[[Json], Any]
    """The error that a payload is; None for any other payload."""
    read: tuple[str, ...]
    """The members of a body that the model reads."""
    translation: Translation | None = None
    counters: tuple[Counter, ...] = ()
    headers: Callable[[Json, Sequence[str]], dict[str, str]] | None = None
    """Headers of its own, for a body and the beta features that the operator wants."""
    models: str = "/models"
    """The path of its list of models."""
    compacted: Callable[[Json], Json] | None = None
    """What is posted, of the body of a turn, to servers that sum up themselves."""
    relays: bool = False
    """Its servers have the Responses API themselves: what they say is passed on, without a translation."""

    def tokens(self, body: Json) -> int:
        """Estimated tokens of a body, for servers that report no usage."""
        return tokens_in(body, self.read)
