"""The Response resource: complete in every lifecycle event, and the body of an answer with `stream: false`."""

from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from .output_items import OutputItem

Status = Literal["in_progress", "completed", "incomplete", "failed"]


class CacheWriteDetails(msgspec.Struct, frozen=True, kw_only=True):
    """How long the tokens that were written to a cache stay there.

    OpenAI has 30 minutes and 12 hours; Claude's five minutes and one hour are counted as these.
    """

    ttl_30m_tokens: int = 0
    ttl_12h_tokens: int = 0


class InputTokensDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Where input tokens came from."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_tokens_details: CacheWriteDetails | UnsetType = UNSET
    """Absent where the upstream does not tell them apart."""


class OutputTokensDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What output tokens were spent on."""

    reasoning_tokens: int = 0


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens used. Clients decide by it when to shorten their context, so it must be correct."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: InputTokensDetails = InputTokensDetails()
    output_tokens_details: OutputTokensDetails = OutputTokensDetails()
    estimated: bool | UnsetType = UNSET
    """True where the upstream counted nothing and these numbers are an estimate; absent otherwise."""


class Identity(NamedTuple):
    """What is the same in all turns made of one request: the response's id, and when it was created."""

    id: str
    created_at: int


class Sent(NamedTuple):
    """What a client has been sent of a response, for the turn that continues it."""

    events: int = 0
    items: tuple[OutputItem, ...] = ()
    """The finished items."""
    usage: Usage | None = None
    """What was used for it."""


NOTHING_SENT: Final = Sent()


class InputTransformation(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the input that the model was not sent."""

    id: str
    """The item's id; if it has none, its path in the request."""
    type: str = "reasoning"
    """The type of the item."""
    action: Literal["removed"] = "removed"
    reason: Literal["model_mismatch", "turn_boundary"]
    """Another server or model wrote it; it belongs to an earlier turn (`reasoning.context: current_turn`), or its turn
    ended with it."""


class IncompleteDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer stopped short."""

    reason: str
    """Ours are `max_output_tokens`, `content_filter` and `interrupted`; a relayed one may be another."""


class ResponseError(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer failed: a code for programs, and a message for people."""

    code: str
    message: str
    type: str | UnsetType = UNSET
    param: str | UnsetType = UNSET
    """The path of the value in the request that is at fault; absent if there is none."""


class ImageInput(msgspec.Struct, frozen=True, kw_only=True):
    """What the input of an image tool consisted of."""

    image_tokens: int = 0
    text_tokens: int = 0


class ImageTokens(msgspec.Struct, frozen=True, kw_only=True):
    """What the images of an image tool used: nothing, because no such tool runs here."""

    input_tokens: int = 0
    input_tokens_details: ImageInput = ImageInput()
    output_tokens: int = 0
    total_tokens: int = 0


class SearchUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What searches of the web used."""

    num_requests: int


class ToolUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What tools that the model's own server runs used, beside tokens."""

    image_gen: ImageTokens = ImageTokens()
    web_search: SearchUsage


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the client gets about one answer. An unknown value is null, never absent."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: Status = "in_progress"
    background: bool = False
    error: ResponseError | None = None
    frequency_penalty: float = 0
    incomplete_details: IncompleteDetails | None = None
    input_transformations: list[InputTransformation] | UnsetType = UNSET
    """What was left out or shortened; absent where nothing was."""
    instructions: Any = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, Any] = {}
    model: str
    output: list[OutputItem] = []
    parallel_tool_calls: bool = True
    presence_penalty: float = 0
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    reasoning: dict[str, Any] | None = None
    safety_identifier: str | None = None
    service_tier: str = "default"
    store: bool = False
    temperature: float = 1
    text: dict[str, Any] = msgspec.field(default_factory=lambda: {"format": {"type": "text"}})
    tool_choice: Any = "auto"
    tools: list[dict[str, Any]] = []
    top_logprobs: int = 0
    top_p: float = 1
    tool_usage: ToolUsage | UnsetType = UNSET
    """Absent where the model's server ran no tool, or does not say so."""
    truncation: str = "disabled"
    usage: Usage | None = None
