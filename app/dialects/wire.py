"""How one dialect is written and read: a prompt becomes a body, and the payloads of an answer become deltas."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from ..emitter.deltas import Delta
from ..prompt.nouns import Prompt
from ..prompt.prompt_rules import PromptRules
from ..prompt.sealed_state import StateForm
from ..protocol.warnings import ClientWarning

Json = dict[str, Any]
OptionsT = TypeVar("OptionsT", bound=PromptRules)

ADDED: Final = "messages"
"""The feature in warnings about messages that were added. Where no model is asked, nothing is added."""


class Encoded(NamedTuple):
    """The body for a prompt, and warnings about what was changed or left out of the prompt."""

    body: Json
    warnings: list[ClientWarning]


class LeftOut(NamedTuple):
    """A part of the answer that the client does not get: its name and value in the log, and the warning."""

    note: str
    value: Any
    warning: ClientWarning


class AnswerReader(Protocol):
    """Reads the payloads of one answer."""

    @property
    def written(self) -> int:
        """Characters that the model has written. Usage is estimated from it where the upstream reports none."""
        ...

    @property
    def size(self) -> int:
        """Approximate bytes of the answer so far."""
        ...

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        ...

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """What else was left out."""
        ...

    def read(self, payload: Any, /) -> list[Delta]:
        """The deltas in one payload."""
        ...

    def rest(self) -> list[Delta]:
        """The deltas that were held back, at the end of the stream."""
        ...


class Wire(NamedTuple, Generic[OptionsT]):
    """How one dialect is written and read."""

    form: StateForm
    """How it writes provider state."""
    encode: Callable[[Prompt, str, OptionsT], Encoded]
    """The body for a prompt to this model."""
    reader: Callable[[Prompt, OptionsT, bool], AnswerReader]
    """The reader of the answer. The last parameter: whether it is to read provider state."""
    tokens_of: Callable[[Json], int]
    """The estimated tokens of a body."""
