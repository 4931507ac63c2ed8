"""The parts of a prompt, in no dialect: frozen types, which dialects translate into the body for an upstream.

None of them can be part of a reference cycle, so those of which a prompt holds thousands have `gc=False`.
"""

from typing import Any, Final

import msgspec

from ..bridges.base import FunctionSpec
from ..bridges.choice import Choice

LONG_LIVED: Final = frozenset({"1h", "12h", "24h"})
"""Times to keep a prompt that are longer than the usual one."""


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
    continued: bool
    """Whether it is the exact text of the same model: it then continues the thought before it."""


class ProviderState(msgspec.Struct, frozen=True, gc=False):
    """What the upstream wants back with the assistant's turn, such as signatures of reasoning."""

    fields: dict[str, Any]


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call of a function by the assistant."""

    id: str
    """Its id as the upstream takes it; no two calls of a prompt share one."""
    name: str
    arguments: str
    """A JSON object, byte for byte as the model wrote it."""
    state: dict[str, Any]
    """What the upstream wants back with this call."""


class OpenedState(msgspec.Struct, frozen=True):
    """What was sealed in a reasoning item."""

    text: str
    """The exact text of the reasoning."""
    own: bool
    """Whether it comes from the same upstream. If not, only the text can be sent."""
    fields: dict[str, Any]
    """The state of the assistant's turn."""
    calls: dict[str, dict[str, Any]]
    """The state of its calls, by their ids as the client knows them."""


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
    failed: bool = False
    """Whether the client says that the tool failed."""


Entry = System | User | Assistant | ToolOutput


class JsonObject(msgspec.Struct, frozen=True, gc=False):
    """The answer must be a JSON object."""


class JsonSchema(msgspec.Struct, frozen=True):
    """The answer must be JSON that is valid by this schema."""

    name: str
    schema: dict[str, Any]
    description: str | None
    strict: bool | None


OutputFormat = JsonObject | JsonSchema


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How the answer is sampled and where it ends. What the client did not set is None."""

    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int | None = None
    """Tokens of the answer at most, reasoning included."""
    logprobs: bool = False
    """Whether log probabilities of the answer's tokens are wanted."""
    top_logprobs: int | None = None


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters that do not change the answer, and that this upstream takes."""

    metadata: dict[str, str] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    user: str | None = None


class Caching(msgspec.Struct, frozen=True, kw_only=True):
    """What the client wants of the cache of prompts, where its upstream is told what to cache."""

    only_marked: bool = False
    """Nothing is cached but up to the parts that the client marked (`ends_cached`)."""
    ttl: str | None = None
    """How long the prompt is to be kept, in the client's words."""

    @property
    def long(self) -> bool:
        """Whether the prompt is to be kept for an hour or longer."""
        return self.ttl in LONG_LIVED


class WebSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The web search that the model's own server is to run."""

    context_size: str | None = None
    domains: tuple[str, ...] = ()
    """The only domains of which pages are wanted; empty for all."""
    blocked: tuple[str, ...] = ()
    """Domains of which no pages are wanted."""
    most: int | None = None
    """Searches of one answer; None: as many as the server allows."""
    location: dict[str, Any] | None = None
    """Where the user is, roughly: members such as `country` and `city`."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is sent to a model. A dialect needs no look at the request that it was made from."""

    entries: tuple[Entry, ...]
    """The conversation up to now. Never empty; every call has its output."""
    functions: tuple[FunctionSpec, ...] = ()
    """The functions that the model is offered."""
    choice: Choice = Choice("auto")
    """Which of them it may or must call."""
    parallel_calls: bool | None = None
    """Whether it may call several functions at once."""
    output: OutputFormat | None = None
    """The format that its server must enforce; None for plain text, or where the entries ask for the format."""
    sampling: Sampling = Sampling()
    effort: str | None = None
    """The reasoning effort, in a value that the model knows."""
    verbosity: str | None = None
    """The verbosity of its text."""
    hints: Hints = Hints()
    caching: Caching = Caching()
    web_search: WebSearch | None = None


def text_of(parts: Parts) -> str:
    """The text of these parts, joined by line breaks."""
    return "\n".join([part.text for part in parts if isinstance(part, Text)])


def media_of(parts: Parts) -> Parts:
    """The parts that are not text."""
    return tuple([part for part in parts if not isinstance(part, Text)])
