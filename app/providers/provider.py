"""The properties of a provider: its server if it is asked directly, and how litellm translates requests for it.

A provider's file contains what differs from a server of OpenAI's chat completions, and from a lossless translation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ..options import CallIds, ChatCompat, Format, KeyHeader, NamedToolChoice, Via
from .capabilities import ANYTHING, Capabilities
from .responses_api import COMPLETE, ResponsesApi

Json: TypeAlias = dict[str, Any]

EVERY_PART: Final = frozenset({"image_url", "file", "input_audio"})
"""All content parts except text."""
LEVELS: Final = ("low", "medium", "high")
"""The efforts that most models know."""


class ModelFacts(NamedTuple):
    """A model, and its entry in litellm's model map."""

    model: str
    info: Mapping[str, Any] = MappingProxyType({})

    def supports(self, name: str) -> bool | None:
        """Whether the model supports this; None if the map does not contain it."""
        value = self.info.get(f"supports_{name}")
        return value if isinstance(value, bool) else None

    @property
    def always_thinks(self) -> bool:
        """Whether this model cannot be asked not to think."""
        return self.info.get("thinking_always_on") is True


class AskFacts(NamedTuple):
    """Facts on which the settings of one request to litellm depend."""

    ask: Json
    """The request as a chat-completions server would get it."""
    most_tokens: int | None = None
    """The longest answer of the model in tokens, if that is known and needed."""
    stops_thinking: bool = False
    """Whether a model that thinks without being asked to may be asked not to."""


_USUAL: Final = ChatCompat()

WordT = TypeVar("WordT", bound=str)
ByModel: TypeAlias = tuple[WordT, ...] | Callable[[ModelFacts], tuple[WordT, ...] | None] | None
"""Words that depend on the model, or are the same for every model. None: unknown."""


def formats_of_map(facts: ModelFacts) -> tuple[Format, ...]:
    """A schema only if the map contains it: for another model litellm makes a prompt or a tool of it."""
    return ("json_schema", "json_object") if facts.supports("response_schema") else ("json_object",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """What litellm's translation for a provider's models loses, changes or needs."""

    lost_parts: frozenset[str] = frozenset()
    """Content parts that litellm leaves out without an error."""
    refuses_blank: bool = False
    """A blank message of the user is refused here: litellm would replace it by a text of its own."""
    drops_strict: bool = False
    """`strict` is taken off tools, by litellm or by us."""
    drops_parallel_calls: bool | Callable[[ModelFacts], bool] = False
    """litellm takes `parallel_tool_calls` and does not send it."""
    tools_as_prompt: bool = False
    """litellm writes tools into the prompt and forces every answer into JSON."""
    effort_as_prompt: bool = False
    """litellm sends an effort as a system prompt."""
    formats: ByModel[Format] = None
    """The formats that an answer is held to. None: both, unless the model map excludes one."""
    formats_beside_tools: ByModel[Format] = None
    """The same in a request that offers tools. None: no different."""
    efforts: ByModel[str] = None
    """The efforts that a model knows."""
    thinking_tokens: Callable[[ModelFacts], dict[str, int] | None] | None = None
    """How many tokens an effort costs, where that must be less than the limit of the whole answer."""
    whole_with_format: bool = False
    """litellm wants a whole answer when there is a format, and does not take back `stream_options`."""
    cached_to_marks: bool = False
    """Prompts are cached up to marks, which litellm passes on at parts, tools and whole outputs of calls."""
    needs_most_tokens: bool = False
    """The longest answer of the model must be known to make the request."""
    prepare: Callable[[Json, AskFacts], Json] | None = None
    """Settings and messages as they must be for litellm to translate them without loss."""
    ignores_effort: Callable[[AskFacts], bool] | None = None
    """Whether the effort of this request has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """A parser of litellm that reads the stream of a wire format other than chat completions."""

    module: str
    """How the name of its module begins."""
    numbers_calls: bool = False
    """It gives all calls the same index, so they are numbered here."""
    noted: str = ""
    """Lines with this text are gathered for `correct_choice`."""
    correct_line: Callable[[str], str] | None = None
    """A line as the parser can read it."""
    correct_choice: Callable[[Json, Sequence[str]], Json | None] | None = None
    """Corrects a choice that has a finish reason, by the gathered lines. Returns the error that it means, if any."""


class ErrorWords(NamedTuple):
    """How a provider's server words some errors, as regular expressions without regard to case.

    They are looked for in the errors of every upstream, since a gateway passes on the errors of its own upstreams.
    """

    too_long: tuple[str, ...] = ()
    """The input is longer than the model's context."""
    policy: tuple[str, ...] = ()
    """The content policy forbids the input."""
    quota: tuple[str, ...] = ()
    """The quota is used up."""
    bad_key: tuple[str, ...] = ()
    """The key is not valid."""
    model_failed: tuple[str, ...] = ()
    """The model wrote a call that its server could not read: the request is correct and may be repeated."""
    state: tuple[str, ...] = ()
    """It does not take back what it gave out in an earlier turn, such as signed reasoning, or misses some of it."""
    schemas: tuple[str, ...] = ()
    """It cannot enforce the schemas of a request."""


_NO_WORDS: Final = ErrorWords()


class SetupFault(NamedTuple):
    """An error that the operator of this server must correct, raised before any request."""

    error: str
    """The name of its class, or how the text of a plain `ValueError` begins."""
    code: str
    """The code of the problem that a client gets."""
    words: str
    """The end of the message: what this server lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Litellm:
    """How litellm reaches a provider."""

    sends_as_is: bool = False
    """A request body is sent as it is."""
    own_hosts: str = ""
    """How the names of its own hosts end. At others the body is sent as it is. Empty: it is translated everywhere."""
    own_credentials: bool = False
    """litellm finds credentials by a chain of its own, which a made-up key would break."""
    any_key: bool = False
    """litellm sends the key it is given, and nothing else that gives access."""
    fetches_images: Literal["never", "http", "always"] = "never"
    """litellm downloads images by URL itself: never, those that are not at https, or all."""
    routes_by_name: bool = False
    """The provider's name inside a model's name makes litellm change the route."""
    asks_responses: bool = False
    """litellm may ask for a response instead of chat completions."""
    facts_of: str | None = None
    """Another provider, whose entries in the model map know more about the same models."""
    address: Callable[[str], str] | None = None
    """A base URL in the form that litellm wants."""
    setup_faults: tuple[SetupFault, ...] = ()
    """Errors of the provider's own library about missing configuration."""
    overloaded: str = ""
    """The text of an error with status 500 if the server is overloaded. Empty: there is no such error."""
    chat_parsers: tuple[str, ...] = ()
    """litellm's parsers of its streams that our own reader of chat completions replaces with less loss."""
    mixed_parsers: tuple[str, ...] = ()
    """The same, where the address that was asked is one of chat completions. At others they read another format."""
    parser: Parser | None = None
    """litellm's parser of its streams, where they are no chat completions and its chunks are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The properties of one provider."""

    name: str
    """Its name in a configuration, which is litellm's prefix where litellm knows it."""
    aliases: tuple[str, ...] = ()
    """Other names that mean the same."""

    base_url: str | None = None
    """The address of its chat completions. None: it has none, or each operator has another."""
    key_variable: str | None = None
    """The environment variable that holds its key. None: it needs none, or each operator has other credentials."""
    at_any_address: bool = False
    """Its server speaks chat completions at an address that only the operator knows."""
    messages_url: str | None = None
    """The address of its Messages API. None: it has none, or each operator has another."""
    messages_at_any_address: bool = False
    """Its server has the Messages API at an address that only the operator knows."""
    key_header: KeyHeader = "x-api-key"
    """The header with the key for its Messages API."""
    makes_claude: bool = False
    """Its Messages API has every feature of Claude, and fetches images and PDF files at https addresses."""
    prefers_responses: bool = False
    """Its own Responses API loses nothing, and has more than its chat completions: hosted tools, and models."""
    responses: ResponsesApi = COMPLETE
    """What is different in its Responses API."""
    prefers_messages: bool = False
    """Its Messages API keeps more than its chat completions."""
    one_maker: bool = False
    """All its models are of one maker: each accepts the reasoning of the others."""
    takes_hints: bool = False
    """It accepts parameters that do not change the answer."""
    call_ids: CallIds = "keep"
    """The ids of calls that it accepts. A conversation may have begun at another provider."""
    needs_tools: bool = False
    """It refuses past calls in a request without tools."""
    named_tool_choice: NamedToolChoice = "name"
    """How it is asked for a call of one tool: by its name, or by offering that tool alone with `required`."""
    compat: ChatCompat = _USUAL
    """What is different in its chat completions. With `reasoning_field="none"`, litellm gets no such field either."""
    takes_image_urls: bool = True
    """Its server fetches images by URL."""
    error_words: ErrorWords = _NO_WORDS
    """How its server words some errors."""
    can: Capabilities = ANYTHING
    """What all its models accept when they are asked directly."""

    litellm: Litellm = Litellm()
    translation: Translation = Translation()
    claude: Translation | None = None
    """Used for its Claude models instead of `translation`, if that differs."""

    @property
    def speaks_chat(self) -> bool:
        """Whether it may be asked directly, with `via = "chat"`."""
        return self.base_url is not None or self.at_any_address

    @property
    def usual_via(self) -> Via:
        """How it is called where nothing else is given."""
        if self.prefers_responses:
            return "responses"
        if self.speaks_messages and (self.prefers_messages or not self.speaks_chat):
            return "messages"
        return "chat" if self.speaks_chat else "litellm"

    def address_for(self, via: object) -> str | None:
        """The address of its own that is called in this way, if it is known."""
        return self.messages_url if via == "messages" else self.base_url

    @property
    def speaks_messages(self) -> bool:
        """Whether it may be asked directly, with `via = "messages"`."""
        return self.messages_url is not None or self.messages_at_any_address

    def settings_for(self, via: Via) -> dict[str, Any]:
        """Defaults for the settings of an upstream that asks this provider directly."""
        match via:
            case "chat":
                return self._chat_settings
            case "messages":
                return self._messages_settings
            case "responses":
                return {} if self.base_url is None else {"base_url": self.base_url}
            case _:
                return {}

    @property
    def _messages_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {} if self.messages_url is None else {"base_url": self.messages_url}
        if self.key_header != "x-api-key":
            settings["key_header"] = self.key_header
        return settings | self._common_settings

    @property
    def _chat_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.compat.model_dump(exclude_defaults=True)
        if self.base_url is not None:
            settings["base_url"] = self.base_url
        return settings | self._common_settings

    @property
    def _common_settings(self) -> dict[str, Any]:
        words = {} if self.named_tool_choice == "name" else {"named_tool_choice": self.named_tool_choice}
        return words if self.takes_image_urls else {**words, "takes_image_urls": False}

    def translation_of(self, model: str) -> Translation:
        """The translation of this model."""
        return self.claude if self.claude is not None and "claude" in model else self.translation
