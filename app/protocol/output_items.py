"""Output items and their parts, as they stand when finished. Frozen; a growing one lives in `emitter/open_items.py`."""

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


class CustomToolCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="custom_tool_call"):
    """A call of a custom tool; `input` is one text, in no JSON."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | UnsetType = UNSET


class ToolSearchCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_search_call"):
    """A search for tools, which the client runs."""

    id: str
    status: ItemStatus
    call_id: str
    execution: Literal["client"] = "client"
    arguments: dict[str, Any] = {}


class ExecAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="exec"):
    """One command, word by word. Clients with strict types take an absent limit, but no null."""

    command: list[str] = []
    env: dict[str, str] = {}
    timeout_ms: int | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET


class LocalShellCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="local_shell_call"):
    """A command for the client's shell."""

    id: str
    status: ItemStatus
    call_id: str
    action: ExecAction = ExecAction()


class ShellAction(msgspec.Struct, frozen=True, kw_only=True):
    """Commands for a shell, and the limits they run under."""

    commands: list[str] = []
    timeout_ms: int | None = None
    max_output_length: int | None = None


class ShellCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="shell_call"):
    """Commands for the client's shell."""

    id: str
    status: ItemStatus
    call_id: str
    action: ShellAction = ShellAction()


class FileOperation(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one file; only `delete_file` has no `diff`."""

    type: Literal["create_file", "update_file", "delete_file"]
    path: str
    diff: str | UnsetType = UNSET


class ApplyPatchCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="apply_patch_call"):
    """A change of one file. The wire knows no incomplete one."""

    id: str
    status: Literal["in_progress", "completed"]
    call_id: str
    operation: FileOperation


class ImageGenerationCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image_generation_call"):
    """An image the model wrote, in base64. It has no result while it is made."""

    id: str
    status: Literal["in_progress", "completed"]
    result: str | UnsetType = UNSET
    output_format: str | UnsetType = UNSET
    """`png`, `jpeg`, `webp` or `gif`, where it is known."""


class Reasoning(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    """What the model thought. `summary` is always there: Codex drops an item without it."""

    id: str
    status: ItemStatus
    summary: list[SummaryText] = []
    content: list[ReasoningText] | UnsetType = UNSET
    encrypted_content: str | UnsetType = UNSET


class Compaction(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """What is left of a conversation, sealed. The wire gives it no status."""

    id: str
    encrypted_content: str = ""


OutputItem = (
    Message
    | FunctionCall
    | Reasoning
    | CustomToolCall
    | ToolSearchCall
    | LocalShellCall
    | ShellCall
    | ApplyPatchCall
    | ImageGenerationCall
    | Compaction
)
