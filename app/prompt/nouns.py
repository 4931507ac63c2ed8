"""What a model is asked, in no dialect: frozen nouns, which dialects translate into the body for an upstream."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from ..providers.provider import Provider
from ..settings.tables import Can, ModelSettings, ServerSettings, UpstreamSettings
from ..tools.base import FunctionSpec
from ..tools.choice import Choice
from ..types.json import Json


class Model(NamedTuple):
    """A model behind one upstream: how it is configured, and what its server takes."""

    name: str
    """As clients name it."""
    upstream_name: str
    """As its upstream knows it."""
    settings: ModelSettings
    upstream: UpstreamSettings
    """What is not given there is as its provider has it."""
    provider: Provider
    can: Can
    """As configured, or else as known of its provider. None: not known, so it is sent, and its server decides."""
    server: ServerSettings
    origin: str
    """Which upstream this is, after a change of its name or key, too: its state goes back to no other."""
    thinking_tokens: Mapping[str, int] = {}
    """Effort -> tokens of reasoning, if that must be less than the limit of the whole answer."""
    declares_past_tools: bool = False
    """Where no tools are offered, those that the history calls are declared: Anthropic refuses the calls otherwise."""
    signed_reasoning: bool = False
    """Its server takes back only reasoning that it signed itself."""
    takes_file_urls: bool = False
    """Its server fetches files itself."""
    marks_cache: bool = False
    """Prompts for Claude are marked for its cache unless that is switched off; tools and whole outputs can be, too."""
    state_refused: bool = False
    """Its server has refused state that this conversation gives back to it: none is given back."""


class Noun(msgspec.Struct, frozen=True, gc=False):
    """A piece of a prompt."""


class Text(Noun, frozen=True):
    """Text of any author."""

    text: str
    ends_cached: bool = False
    """Whether the client wants the prompt to be cached up to its end. The same for other parts."""


class Image(Noun, frozen=True):
    """A picture: a data URI or an address that may be fetched."""

    url: str
    detail: str | None = None
    """The resolution to read it at, as the client gives it."""
    ends_cached: bool = False


class File(Noun, frozen=True):
    """A file."""

    name: str
    url: str
    """A data URI, or an address that the upstream may fetch."""
    ends_cached: bool = False


class Audio(Noun, frozen=True):
    """A recording, in base64."""

    data: str
    format: str
    ends_cached: bool = False


Part = Text | Image | File | Audio
Parts = tuple[Part, ...]


class RefusalText(Noun, frozen=True):
    """The text of a refusal to answer."""

    text: str


class AssistantMessage(Noun, frozen=True):
    """One message of the assistant."""

    parts: tuple[Text | RefusalText, ...]


class PastThought(Noun, frozen=True):
    """Reasoning of the assistant."""

    text: str
    continued: bool = False
    """Whether it is the exact text of the same model: it then continues the thought before it."""


class ProviderState(Noun, frozen=True):
    """What the upstream wants back with the assistant's turn, such as signatures of reasoning."""

    fields: Json


class Call(Noun, frozen=True):
    """A call of a function by the assistant."""

    id: str
    """Its id as the upstream takes it; no two calls of a prompt share one."""
    name: str
    arguments: str
    """A JSON object, byte for byte as the model wrote it."""
    state: Json
    """What the upstream wants back with this call."""


Piece = AssistantMessage | PastThought | ProviderState | Call


class System(Noun, frozen=True):
    """Instructions of the developer."""

    text: str


class User(Noun, frozen=True):
    """One message of the user."""

    parts: Parts


class Assistant(Noun, frozen=True):
    """One turn of the assistant: messages, reasoning and calls in their order. The outputs of its calls follow it."""

    pieces: tuple[Piece, ...]


class ToolOutput(Noun, frozen=True):
    """The output of a call. It directly follows the assistant's entry that holds the call."""

    call_id: str
    parts: Parts
    """Empty where the tool gave no output."""
    failed: bool = False
    """Whether the client says that the tool failed."""


Entry = System | User | Assistant | ToolOutput


class OutputFormat(Noun, frozen=True, kw_only=True):
    """The format that the model's server must enforce: a JSON object, or one by a schema."""

    name: str | None = None
    schema: Json | None = None
    description: str | None = None
    strict: bool | None = None


class Caching(NamedTuple):
    """What the client wants of the cache of prompts, where its server is told what to cache."""

    only_marked: bool = False
    """Nothing is cached but up to the parts that the client marked."""
    ttl: str | None = None
    """How long the prompt is to be kept, in the client's words."""


class WebSearch(NamedTuple):
    """The web search that the model's own server is to run."""

    context_size: str | None = None
    domains: tuple[str, ...] = ()
    """The only domains of which pages are wanted; empty for all."""
    blocked: tuple[str, ...] = ()
    """Domains of which no pages are wanted."""
    most: int | None = None
    """Searches of one answer; None: as many as the server allows."""
    location: Json | None = None
    """Where the user is, roughly: members such as `country` and `city`."""


class Prompt(Noun, frozen=True, kw_only=True):
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
    caching: Caching = Caching()
    web_search: WebSearch | None = None


def text_of(parts: Iterable[Part | RefusalText]) -> str:
    """The text in these parts, joined by line breaks."""
    return "\n".join([part.text for part in parts if isinstance(part, Text | RefusalText)])


def media_of(parts: Parts) -> Parts:
    """The parts that are not text."""
    return tuple([part for part in parts if not isinstance(part, Text)])
