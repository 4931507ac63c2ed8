"""What a model is asked, in no dialect: frozen nouns, which dialects translate into the body for an upstream."""

from typing import Literal, NamedTuple

import msgspec

from ..settings.tables import ModelSettings, UpstreamSettings
from ..tools.table import Choice, FunctionSpec
from ..types.json import Json

CallIds = Literal["keep", "plain40", "alphanumeric9"]
"""The form of ids of calls: unchanged; at most 40 letters, digits, `_` and `-` (OpenAI); nine letters and digits
(Mistral)."""


class Model(NamedTuple):
    """A model behind one upstream: how it is configured, and what its server takes."""

    name: str
    """As clients name it."""
    upstream_name: str
    """As its upstream knows it."""
    settings: ModelSettings
    upstream: UpstreamSettings
    call_ids: CallIds


class Text(msgspec.Struct, frozen=True, gc=False):
    """Text of any author."""

    text: str


Parts = tuple[Text, ...]


class AssistantMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of the assistant."""

    parts: Parts


class PastThought(msgspec.Struct, frozen=True, gc=False):
    """Reasoning of the assistant."""

    text: str


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call of a function by the assistant."""

    id: str
    """Its id as the upstream takes it; no two calls of a prompt share one."""
    name: str
    arguments: str
    """A JSON object, byte for byte as the model wrote it."""


Piece = AssistantMessage | PastThought | Call


class System(msgspec.Struct, frozen=True, gc=False):
    """Instructions of the developer."""

    text: str


class User(msgspec.Struct, frozen=True, gc=False):
    """One message of the user."""

    parts: Parts


class Assistant(msgspec.Struct, frozen=True, gc=False):
    """One turn of the assistant: messages, reasoning and calls in their order. The outputs of its calls follow it."""

    pieces: tuple[Piece, ...]


class ToolOutput(msgspec.Struct, frozen=True, gc=False):
    """The output of a call. It directly follows the assistant's entry that holds the call."""

    call_id: str
    parts: Parts
    """Empty where the tool gave no output."""


Entry = System | User | Assistant | ToolOutput


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format that the model's server must enforce: a JSON object, or one by a schema."""

    name: str | None = None
    schema: Json | None = None
    description: str | None = None
    strict: bool | None = None


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is sent to a model. A dialect needs no look at the request that it was made from."""

    entries: tuple[Entry, ...]
    """The conversation up to now. Never empty; every call has its output."""
    functions: tuple[FunctionSpec, ...] = ()
    choice: Choice = Choice()
    parallel_calls: bool | None = None
    output: OutputFormat | None = None
    sampling: Json = {}
    """How the answer is sampled and where it ends: what the client set, by the names of the Responses API."""
    effort: str | None = None
    verbosity: str | None = None
    hints: Json = {}
    """Parameters that do not change the answer, and that this upstream takes."""


def text_of(parts: Parts) -> str:
    """The text of these parts, joined by line breaks."""
    return "\n".join([part.text for part in parts])
