"""The Response resource, its output items, and their ids. What still grows is in `emitter/items.py`."""

import time
from secrets import token_hex
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .json import Json


def new_id(prefix: str) -> str:
    """A new id. Those of responses hold the time, so that logs sort."""
    if prefix == "resp":
        return f"resp_AM-{time.time_ns() // 1_000_000}-{token_hex(4)}"
    return f"{prefix}_AM-{token_hex(6)}"


Count = Annotated[int, Meta(ge=0)]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class Typed(msgspec.Struct, tag_field="type"):
    """One of several that differ by their `type`."""


class OutputText(Typed, tag="output_text"):
    """Text the model wrote. `logprobs` is absent rather than empty unless the client asked for them."""

    text: str
    annotations: list[Json] = []
    logprobs: list[Json] | UnsetType = UNSET


class Refusal(Typed, tag="refusal"):
    """A model's refusal to answer."""

    refusal: str


class SummaryText(Typed, tag="summary_text"):
    """One part of a reasoning summary."""

    text: str


class ReasoningText(Typed, tag="reasoning_text"):
    """Reasoning as the model wrote it."""

    text: str


class OutputItem(Typed):
    """One entry of a response's `output`. The calls of other tools than functions are in the files of those tools."""

    id: str


class Message(OutputItem, tag="message"):
    """A message of the model to the user."""

    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: list[OutputText | Refusal] = []


class FunctionCall(OutputItem, tag="function_call"):
    """A call of one of the client's functions; `arguments` are exactly what the model wrote."""

    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


class ImageGenerationCall(OutputItem, tag="image_generation_call"):
    """An image the model wrote, in base64. It has no result while it is made."""

    status: Literal["in_progress", "completed"]
    result: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    """`png`, `jpeg`, `webp` or `gif`, where it is known."""


class WebSearchCall(OutputItem, tag="web_search_call"):
    """A search of the web by the model's own server."""

    status: Literal["in_progress", "completed", "failed"]
    action: Json
    """`type` is `search`; then the query, and the pages that were found."""


class Reasoning(OutputItem, tag="reasoning"):
    """The reasoning of the model. `summary` is always present: Codex drops an item without it."""

    status: ItemStatus
    summary: list[SummaryText] = []
    content: list[ReasoningText] | UnsetType = UNSET
    encrypted_content: str | UnsetType = UNSET


class Compaction(OutputItem, tag="compaction"):
    """What remains of a conversation, sealed. In the API it has no status."""

    encrypted_content: str = ""


class CacheWriteDetails(msgspec.Struct, frozen=True):
    """How long the tokens that were written to a cache stay there.

    OpenAI has 30 minutes and 12 hours; Claude's five minutes and one hour are counted as these.
    """

    ttl_30m_tokens: Count = 0
    ttl_12h_tokens: Count = 0


class InputTokensDetails(msgspec.Struct, frozen=True):
    """Where input tokens came from."""

    cached_tokens: Count = 0
    cache_write_tokens: Count = 0
    cache_write_tokens_details: CacheWriteDetails | UnsetType = UNSET
    """Absent where the upstream does not tell them apart."""


class OutputTokensDetails(msgspec.Struct, frozen=True):
    """What output tokens were spent on."""

    reasoning_tokens: Count = 0


class Usage(msgspec.Struct):
    """Tokens used. Clients decide by it when to shorten their context, so it must be correct."""

    input_tokens: Count
    output_tokens: Count
    total_tokens: Count
    input_tokens_details: InputTokensDetails = InputTokensDetails()
    output_tokens_details: OutputTokensDetails = OutputTokensDetails()
    estimated: bool | UnsetType = UNSET
    """True where the upstream counted nothing and these numbers are an estimate; absent otherwise."""

    def plus(self, other: "Usage | None") -> "Usage":
        """The usage of two asks together."""
        return self if other is None else msgspec.convert(_sum(*map(msgspec.to_builtins, (self, other))), Usage)


def _sum(one: Json, other: Json) -> Json:
    both = {**one, **other}
    for name in one.keys() & other.keys():
        value = other[name]
        both[name] = _sum(one[name], value) if isinstance(value, dict) else value is True or one[name] + value
    return both


class IncompleteDetails(msgspec.Struct):
    """Why an answer stopped short: `max_output_tokens`, `content_filter` or `interrupted`."""

    reason: str


class ResponseError(msgspec.Struct):
    """Why an answer failed: a code for programs, and a message for people."""

    code: str
    message: str
    type: str | UnsetType = UNSET
    param: str | UnsetType = UNSET


class Response(msgspec.Struct, kw_only=True):
    """All that a client gets about one answer. An unknown value is null, never absent."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: Literal["in_progress", "completed", "incomplete", "failed"] = "in_progress"
    background: bool = False
    error: ResponseError | None = None
    frequency_penalty: float = 0
    incomplete_details: IncompleteDetails | None = None
    instructions: Any = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: Json = {}
    model: str
    output: list[OutputItem] = []
    parallel_tool_calls: bool = True
    presence_penalty: float = 0
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    reasoning: Json | None = None
    safety_identifier: str | None = None
    service_tier: str = "default"
    store: bool = False
    temperature: float = 1
    text: Json = msgspec.field(default_factory=lambda: {"format": {"type": "text"}})
    tool_choice: Any = "auto"
    tools: list[Json] = []
    top_logprobs: int = 0
    top_p: float = 1
    truncation: str = "disabled"
    usage: Usage | None = None
