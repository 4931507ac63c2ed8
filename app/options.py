"""Options of servers and models: each is declared once here, set by the configuration, and read where it is used."""

from typing import Annotated, Final, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
SILENT_HINTS: Final = frozenset(HINTS) - {"service_tier"}
"""Hints whose loss is no warning. With `service_tier` the client chose a price and a speed."""
NamedToolChoice: TypeAlias = Literal["name", "required"]
"""How an upstream is asked for a call of one tool: by its name; or by offering that tool alone with the word
`required`."""
ResponseIds: TypeAlias = Literal["am", "keep"]
"""Ids of responses and items: marked as this server's, with the original inside; or as the upstream gave them."""
KeyHeader: TypeAlias = Literal["x-api-key", "authorization"]
"""The header of a key: by itself in `x-api-key`, or in `authorization` after the word `Bearer`."""
ToolsSentAs: TypeAlias = Literal["auto", "native", "functions"]
"""How a server with the Responses API gets the client's tools: as they are; every type as a function; or as its
provider needs them."""
Via: TypeAlias = Literal["litellm", "chat", "messages", "responses", "demo"]
"""How an upstream is asked."""
Format: TypeAlias = Literal["json_schema", "json_object"]
"""A format that a server may hold an answer to."""


class Table(BaseModel):
    """A table of the configuration: frozen, and a key that it does not have is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ChatCompat(Table):
    """How one chat-completions server differs from others. With the defaults a request body is sent as it is."""

    stream_options: bool = True
    """True: token counts are requested, unless the server refuses that. False: never."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit on an answer's length. OpenAI's newer models accept only the longer name, most other
    servers the shorter."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the messages with instructions."""
    strict_tools: bool = True
    """False: `strict` is removed from tools, for servers that refuse unknown keys."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """The field in which earlier reasoning is sent back; none: it is not sent."""
    blank_reasoning: bool = False
    """True: assistant messages without reasoning get a blank one, for servers that require it (DeepSeek)."""


class RelayedTools(Table):
    """How a server with the Responses API gets tools. A model's settings are used before those of its upstream."""

    tools: ToolsSentAs = "auto"
    """With `via = "responses"`, how the server gets the client's tools. native: as they are, with the history of their
    calls; functions: all as function tools, for servers that know no others, and calls are returned as the client
    declared them; auto: as the provider needs them, and without a provider as native."""
    hosted_tools: tuple[Annotated[str, Field(pattern=r"^[a-z0-9_:-]{1,64}$")], ...] | None = None
    """With tools as functions, the types of tools that the server runs itself, such as `web_search`: they are sent as
    they are, and others that cannot be functions are left out with a warning. By default those that the provider is
    known to run, and without a provider none."""


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
    """Can be limited to one tool call at a time (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Its server enforces the schema of a strict tool."""
    reasoning: bool | None = None
    """Its reasoning effort can be set; `reasoning_efforts` lists the efforts that it supports."""
    structured_output: tuple[Format, ...] | None = None
    """The formats that its server enforces. Others are described to the model as an instruction."""
    verbosity: bool | None = None
    """Has a setting for the length of its answers."""


class ModelOptions(Table):
    """What one model needs, where no request can say it, and what is said about it to clients."""

    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """Where system messages go. keep: they stay in place; merge_head: all are merged into one at the start; as_user:
    they become user messages."""
    alternating_roles: bool | None = None
    """True: its chat template requires that user and assistant messages alternate, so consecutive user messages are
    merged, and later system messages become user messages. By default true for models with `gemma` in their name."""
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    """How its reasoning is sent to clients. summary: as a summary, which every client shows; text: as raw text;
    on_request: as a summary, but only to clients that request a summary or encrypted reasoning."""
    give_back_reasoning: bool = True
    """Whether earlier reasoning is sent back to the upstream."""
    think_tags: bool = False
    """True: `<think>…</think>` at the start of the text is reasoning."""
    call_ids: Literal["auto", CallIds] = "auto"
    """Ids of past calls. auto: in the form that the provider requires; keep: unchanged; plain64, plain40: at most 64 or
    40 letters, digits, `_` and `-` (40: OpenAI); alphanumeric9: nine letters and digits (Mistral)."""
    web_search: bool = False
    """True: the upstream searches the web itself if the client offers `web_search`."""
    cache_control: Literal["off", "auto"] | None = None
    """auto: marks the part of a prompt to cache (tools, system message, and the conversation so far), for Claude at any
    provider; off: no marks. By default auto for Claude with `via = "messages"`, and over litellm at Anthropic, Bedrock
    and Vertex AI; off for others."""
    cache_ttl: Literal["5m", "1h"] = "5m"
    """How long a prompt stays in the cache after its last use. Anthropic charges more for prompts that it keeps for an
    hour."""
    image_output: bool = False
    """True: the model can create images, and is asked to."""
    context_window: int | None = Field(default=None, ge=1)
    """Length of its context in tokens, for clients that request a catalogue of models, such as Codex. Summaries
    keep to it; if it is not set, they learn it when the upstream refuses a request as too long."""
    input_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars for a million input tokens, for estimates of what turns cost; needs `output_price`. By default those that
    litellm lists for the model, if its provider is known. Nothing is limited by it."""
    cached_input_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars for a million input tokens that the upstream has read from its cache; by default as `input_price`."""
    output_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars for a million output tokens."""
    reasoning_efforts: tuple[Effort, ...] = ()
    """Reasoning efforts that the model supports; any other is changed to one of these. Also in that catalogue."""
    apply_patch: bool = True
    """Whether Codex offers this model its `apply_patch` tool; also in that catalogue."""
    tool_search: bool = False
    """True: Codex offers this model `tool_search`, which finds the tools of MCP servers, instead of all these tools;
    also in that catalogue. The same for the next five."""
    auto_compact_token_limit: int | None = Field(default=None, ge=1)
    """Tokens of a conversation at which Codex summarizes it. By default Codex decides by `context_window`."""
    default_reasoning_summary: Literal["auto", "concise", "detailed", "none"] | None = None
    """The summary of its reasoning that Codex requests, unless its user chooses another."""
    multi_agent_version: Literal["disabled", "v1", "v2"] | None = None
    """Which tools for sub-agents Codex offers this model. By default Codex decides."""
    tool_mode: Literal["direct", "code_mode", "code_mode_only"] | None = None
    """How Codex offers this model its tools. direct: each by itself; code_mode_only: one tool `exec`, which runs a
    script of JavaScript that calls the others; code_mode: both. By default Codex decides."""
    use_responses_lite: bool = False
    """True: Codex asks for one call at a time, sends its tools only once on a websocket, and there interrupts the
    running answer when its user says more."""
    can: Can = Can()
    """What the model can do, where that differs from what litellm knows; see `[models.NAME.can]`."""

    @model_validator(mode="after")
    def _both_prices(self) -> Self:
        """A price that would have no effect is a mistake."""
        has_input, has_output = self.input_price is not None, self.output_price is not None
        if has_input is not has_output or (self.cached_input_price is not None and not has_input):
            message = "needs both input_price and output_price, or no price at all"
            raise ValueError(message)
        return self


class ServerOptions(Table):
    """What the settings of the server say about every request and answer."""

    lenient: bool = False
    """True: input that the model does not support, such as images, is left out with a warning. False: such a request is
    a 400."""
    max_answer_bytes: int = Field(default=64 * 1024 * 1024, ge=1024 * 1024)
    """Largest answer, in bytes; a larger one fails."""
    allow_private_urls: bool = False
    """True: image and file URLs may point to private addresses."""
