"""What a model is asked, in no dialect: frozen nouns, which dialects translate into the body for an upstream."""

from collections.abc import Iterable
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
    ends_cached: bool = False
    """Whether the client wants the prompt to be cached up to its end. The same for other parts."""


class Image(msgspec.Struct, frozen=True, gc=False):
    """A picture: a data URI or an address that may be fetched."""

    url: str
    detail: str | None = None
    """The resolution to read it at, as the client gives it."""
    ends_cached: bool = False


class File(msgspec.Struct, frozen=True, gc=False):
    """A file."""

    name: str
    url: str
    """A data URI, or an address that the upstream may fetch."""
    ends_cached: bool = False


class Audio(msgspec.Struct, frozen=True, gc=False):
    """A recording, in base64."""

    data: str
    format: str
    ends_cached: bool = False


Part = Text | Image | File | Audio
Parts = tuple[Part, ...]


class RefusalText(msgspec.Struct, frozen=True, gc=False):
    """The text of a refusal to answer."""

    text: str


class AssistantMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of the assistant."""

    parts: tuple[Text | RefusalText, ...]


class PastThought(msgspec.Struct, frozen=True, gc=False):
    """Reasoning of the assistant."""

    text: str
    continued: bool = False
    """Whether it is the exact text of the same model: it then continues the thought before it."""


class ProviderState(msgspec.Struct, frozen=True, gc=False):
    """What the upstream wants back with the assistant's turn, such as signatures of reasoning."""

    fields: Json


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call of a function by the assistant."""

    id: str
    """Its id as the upstream takes it; no two calls of a prompt share one."""
    name: str
    arguments: str
    """A JSON object, byte for byte as the model wrote it."""
    state: Json
    """What the upstream wants back with this call."""


Piece = AssistantMessage | PastThought | ProviderState | Call


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


def text_of(parts: Iterable[Part | RefusalText]) -> str:
    """The text in these parts, joined by line breaks."""
    return "\n".join([part.text for part in parts if isinstance(part, Text | RefusalText)])
