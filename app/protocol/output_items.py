"""Finished output items and their parts, all frozen. Items that still grow are in `emitter/open_items.py`."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    """Text the model wrote. `logprobs` is absent rather than empty unless the client asked for them."""

    text: str
    annotations: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] | UnsetType = UNSET


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """A model's refusal to answer."""

    refusal: str


class SummaryText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="summary_text"):
    """One part of a reasoning summary."""

    text: str


class ReasoningText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning_text"):
    """Reasoning as the model wrote it."""

    text: str


class OutputItem(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One entry of a response's `output`. The calls of tools that have a bridge are in the files of those bridges."""

    id: str


class Message(OutputItem, frozen=True, kw_only=True, tag="message"):
    """A message of the model to the user."""

    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: list[OutputText | Refusal] = []
    phase: str | UnsetType = UNSET


class FunctionCall(OutputItem, frozen=True, kw_only=True, tag="function_call"):
    """A call of one of the client's functions; `arguments` are exactly what the model wrote."""

    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


class ImageGenerationCall(OutputItem, frozen=True, kw_only=True, tag="image_generation_call"):
    """An image the model wrote, in base64. It has no result while it is made."""

    status: Literal["in_progress", "completed"]
    result: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    """`png`, `jpeg`, `webp` or `gif`, where it is known."""


class WebSearchCall(OutputItem, frozen=True, kw_only=True, tag="web_search_call"):
    """A search of the web by the model's own server."""

    status: Literal["in_progress", "completed", "failed"]
    action: dict[str, Any]
    """`type` is `search`; then the query, and the pages that were found."""


class Reasoning(OutputItem, frozen=True, kw_only=True, tag="reasoning"):
    """The reasoning of the model. `summary` is always present: Codex drops an item without it."""

    status: ItemStatus
    summary: list[SummaryText] = []
    content: list[ReasoningText] | UnsetType = UNSET
    encrypted_content: str | UnsetType = UNSET
