"""The body of `POST /v1/responses`."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, SkipValidation
from pydantic.json_schema import SkipJsonSchema

from ...options import Effort
from ..warnings import ClientWarning
from .input_items import InputItem
from .shape import Shape
from .summaries import ContextManagement
from .text_format import TextConfig
from .tool_choice import ToolChoice
from .tools import Tool

MAX_NAME: Final = 256
"""Characters of a model's name, as in the configuration."""
CONTEXTS: Final = frozenset({"auto", "all_turns", "current_turn"})
ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"
"""In `include`: the client wants reasoning with its sealed state."""
SERVICE_TIERS: Final = frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"})

Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Key = Annotated[str, Field(max_length=64)]
Summary: TypeAlias = Literal["auto", "concise", "detailed"]


class ReasoningConfig(Shape):
    """How much the model should think."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    """The name that `summary` had before."""
    context: Key | None = None
    """Of which turns reasoning is sent to the model: one of `CONTEXTS`."""
    mode: Key | None = None

    @property
    def wanted_summary(self) -> Summary | None:
        """The summary that the client wants, under either name."""
        return self.summary or self.generate_summary


class CacheOptions(Shape):
    """How the prompt is to be cached."""

    mode: str | None = None
    ttl: str | None = None
    prewarm: bool | None = None
    """True: only prepare the cache, and write no answer."""


class StreamOptions(Shape):
    """How a streamed answer is sent."""

    include_obfuscation: bool | None = None
    reasoning_summary_delivery: str | None = None
    """When summaries of reasoning are sent. Codex says it; here they are sent as they come."""


class CreateResponse(Shape, extra="ignore"):
    """A request, validated. Fields are named as on the wire; what was not given, or null, has its default."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    input: Annotated[str | list[InputItem], SkipValidation]
    instructions: str | None = None
    tools: Annotated[list[Tool], SkipValidation] = Field(default_factory=list)
    raw_tools: Annotated[list[dict[str, Any]], SkipValidation] = Field(default_factory=list)
    """The tools as they were posted: the response echoes them."""
    tool_choice: Annotated[ToolChoice, SkipValidation] = "auto"
    raw_tool_choice: Annotated[Any, SkipValidation] = "auto"
    """`tool_choice` as it was posted, for the same reason."""
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int, Field(ge=1)] | None = None
    text: Annotated[TextConfig, SkipValidation] = TextConfig()
    reasoning: ReasoningConfig | None = None
    include: list[str] = Field(default_factory=list)
    stream: bool = False
    stream_options: StreamOptions | None = None
    generate: bool = True
    """False: the request is checked and translated, and no model is asked."""
    store: bool | None = None
    background: bool = False
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    metadata: dict[Key, Annotated[str, Field(max_length=512)]] | None = None
    context_management: list[ContextManagement] = Field(default_factory=list)
    truncation: Literal["auto", "disabled"] = "disabled"
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    previous_response_id: str | None = None
    """The response that this one continues on its connection, repeated here: its items are in `input` already."""
    summary_only: bool = False
    """Whether only a summary of the conversation is wanted."""
    positions: Annotated[list[int] | None, SkipValidation] = None
    """The position that each item had in the `input` that was posted, where an item was expanded."""
    raw: Annotated[dict[str, Any], SkipValidation] = Field(default_factory=dict)
    """The body as it was posted, for upstreams that have the Responses API themselves."""
    size: int = 0
    """Bytes of the body: a measure of how long it takes to translate."""
    warnings: Annotated[tuple[ClientWarning, ...], SkipValidation, SkipJsonSchema()] = ()
    """The warnings about posted parameters that have no effect."""

    @property
    def summary_threshold(self) -> int | None:
        """How many tokens the conversation may have before it is to be summed up."""
        for entry in self.context_management:
            if entry.threshold is not None:
                return entry.threshold
        return None

    @property
    def prewarms(self) -> bool:
        """Whether only the cache is to be prepared, and no answer is wanted."""
        return self.prompt_cache_options is not None and self.prompt_cache_options.prewarm is True

    @property
    def items(self) -> list[InputItem]:
        """`input` as items; a plain string is none."""
        return [] if isinstance(self.input, str) else self.input


_OURS: Final = {
    "positions", "previous_response_id", "raw", "raw_tool_choice", "raw_tools", "size",
    "summary_only", "warnings",
}  # fmt: skip
KNOWN: Final = frozenset(CreateResponse.model_fields) - _OURS
"""The parameters that a client may post."""
