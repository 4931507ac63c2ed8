"""Options of servers and models: each is declared once here, set by the configuration, and read where it is used."""

from typing import Final, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

CallIds: TypeAlias = Literal["keep", "plain64", "plain40", "alphanumeric9"]
"""Ids of calls: as the client has them; at most 64 plain characters, or 40 (OpenAI); or nine letters and digits
(Mistral)."""
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model may be told to think, from nothing upwards."""
Hint: TypeAlias = Literal[
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user"
]
"""A parameter of a request that does not change the answer."""
HINTS: Final[tuple[Hint, ...]] = get_args(Hint)
NamedToolChoice: TypeAlias = Literal["name", "required"]
"""How an upstream is asked for a call of one tool: by its name; or by offering that tool alone with the word
`required`."""
ResponseIds: TypeAlias = Literal["am", "keep"]
"""Ids of responses and items: marked as this server's, with the original inside; or as the upstream gave them."""
Via: TypeAlias = Literal["litellm", "chat", "responses", "demo"]
"""How an upstream is asked."""
Format: TypeAlias = Literal["json_schema", "json_object"]
"""A format that a server may hold an answer to."""


class Table(BaseModel):
    """A table of the configuration: frozen, and a key that it does not have is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ChatCompat(Table):
    """How one chat-completions server differs from others. With the defaults a request body is sent as it is."""

    stream_options: bool = True
    """False: the upstream is never asked to count tokens. True: it is, until it refuses."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the upstream calls the limit of an answer. OpenAI's newer models know the longer name only, most other
    servers the shorter."""
    system_role: Literal["system", "developer"] = "system"
    """The role of instructions."""
    strict_tools: bool = True
    """False: `strict` is taken off tools, for servers that refuse a key they do not know."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """The field in which earlier reasoning goes back; none: it does not."""
    blank_reasoning: bool = False
    """True: assistant messages without reasoning get a blank one, for servers that demand it (DeepSeek). Another model
    may have written the message, or the client may have dropped the reasoning."""


class Can(Table):
    """What a model can do, where this is known better than by litellm's model map. All else is passed on."""

    vision: bool | None = None
    """Accepts images."""
    files: bool | None = None
    """Accepts files, such as PDF."""
    audio: bool | None = None
    """Accepts audio."""
    tools: bool | None = None
    """Calls tools."""
    parallel_calls: bool | None = None
    """Can be asked to call one tool at a time (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Its server enforces the schema of a strict tool."""
    reasoning: bool | None = None
    """Can be asked how much to think; the efforts it knows are `reasoning_efforts`."""
    structured_output: tuple[Format, ...] | None = None
    """The formats that its server enforces. Others are described to the model in words."""
    verbosity: bool | None = None
    """Can be asked how long its answer is to be."""


class ModelOptions(Table):
    """What one model needs, where no request can say it, and what is said about it to clients."""

    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """Where system messages go: they stay in place, are merged into one at the head, or become user messages."""
    alternating_roles: bool | None = None
    """True: its chat template requires that user and assistant alternate, so consecutive user messages are merged, and
    system messages after the first ones become user messages. Unless given, true for models with `gemma` in their
    name."""
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    """How its reasoning is returned: as a summary, which every client shows; as raw text; or, on request, as a summary
    to clients that ask for one, or for encrypted reasoning, and not at all to others."""
    give_back_reasoning: bool = True
    """Whether earlier reasoning is sent back to the upstream."""
    think_tags: bool = False
    """True: `<think>…</think>` at the start of the text is reasoning."""
    call_ids: Literal["auto", CallIds] = "auto"
    """Ids of past calls: as the provider is known to want them (auto), as the client has them, at most 64 plain
    characters, or 40 (OpenAI), or nine letters and digits (Mistral)."""
    web_search: bool = False
    """True: the upstream searches the web itself, when the client offers `web_search`."""
    cache_control: Literal["off", "auto"] = "off"
    """auto: marks what is to be cached (the system message, and the conversation so far), for Claude at any
    provider."""
    image_output: bool = False
    """True: the model writes images beside text, and is asked to."""
    context_window: int | None = Field(default=None, ge=1)
    """Its context in tokens, for clients that ask for a catalogue of models, as Codex does."""
    reasoning_efforts: tuple[Effort, ...] = ()
    """Efforts that the model knows; others are changed to one of these. Also in that catalogue."""
    apply_patch: bool = True
    """Whether Codex should offer this model its free-form `apply_patch`, by the same catalogue."""
    can: Can = Can()
    """What the model can do, where that differs from what litellm knows; see `[models.NAME.can]`."""


class ServerOptions(Table):
    """What the settings of the server say about every request and answer."""

    lenient: bool = False
    """True: input that a model is known not to support is left out, with a warning. False: such a request is refused
    with a 400."""
    max_answer_bytes: int = Field(default=64 * 1024 * 1024, ge=1024 * 1024)
    """Largest answer, in bytes (text, reasoning, arguments, images, items); a larger one fails."""
    allow_private_urls: bool = False
    """True: image and file URLs may point to private addresses."""
