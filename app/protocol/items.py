"""Output items and their parts, as they stand when finished. Frozen; a growing one lives in `turn/open_items.py`."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    """Text the model wrote. `logprobs` is absent rather than empty when nobody asked for any."""

    text: str
    annotations: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] | UnsetType = UNSET


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """What a model says instead of an answer when it declines."""

    refusal: str


class SummaryText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="summary_text"):
    """One part of a reasoning summary."""

    text: str


class ReasoningText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning_text"):
    """Reasoning as the model wrote it."""

    text: str


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """What the model says to the user."""

    id: str
    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: list[OutputText | Refusal] = []
    phase: str | UnsetType = UNSET


class FunctionCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="function_call"):
    """A call of one of the client's functions; `arguments` are the very characters the model wrote."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


class Reasoning(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    """What the model thought. `summary` is always there: Codex drops an item without it."""

    id: str
    status: ItemStatus
    summary: list[SummaryText] = []
    content: list[ReasoningText] | UnsetType = UNSET
    encrypted_content: str | UnsetType = UNSET


OutputItem = Message | FunctionCall | Reasoning
