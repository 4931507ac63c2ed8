"""What is known of each kind of event, as tables: its fields, the items it may be about, and the texts it tells."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

Event = Mapping[str, Any]
Holds = Callable[[Any], bool]


def is_text(value: object) -> bool:
    """A string."""
    return isinstance(value, str)


def is_number(value: object) -> bool:
    """A whole number from 0 on; true and 1.0 are not."""
    return type(value) is int and value >= 0


def is_object(value: object) -> bool:
    """A JSON object."""
    return isinstance(value, dict)


class StreamedText(NamedTuple):
    """A text that is streamed in deltas."""

    delta: str
    done: str
    field: str
    """Its key in the `done` event, in its part or its item."""
    item: str
    """The type of its item."""
    part: str = ""
    """The type of its part; empty if the text belongs to the item itself."""
    part_index: str = ""
    """The key of its part's number in an event."""
    home: str = ""
    """The key of the item with its parts."""


def _text(name: str, field: str, item: str, part: str = "", index: str = "", home: str = "") -> StreamedText:
    return StreamedText(f"response.{name}.delta", f"response.{name}.done", field, item, part, index, home)


STREAMED: Final = (
    _text("output_text", "text", "message", "output_text", "content_index", "content"),
    _text("refusal", "refusal", "message", "refusal", "content_index", "content"),
    _text("reasoning_text", "text", "reasoning", "reasoning_text", "content_index", "content"),
    _text("reasoning_summary_text", "text", "reasoning", "summary_text", "summary_index", "summary"),
    _text("function_call_arguments", "arguments", "function_call"),
    _text("custom_tool_call_input", "input", "custom_tool_call"),
    _text("mcp_call_arguments", "arguments", "mcp_call"),
    _text("code_interpreter_call_code", "code", "code_interpreter_call"),
)
BY_EVENT: Final = {name: text for text in STREAMED for name in (text.delta, text.done)}
OF_ITEM: Final = {text.item: text for text in STREAMED if not text.part}
"""Of the items whose text is not in parts."""

LAST: Final[Mapping[str, str]] = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
LIFECYCLE: Final = {"response.created", "response.in_progress", "response.queued", *LAST}

PART_EVENTS: Final[Mapping[str, tuple[str, str]]] = {
    "response.content_part.added": ("content", "content_index"),
    "response.content_part.done": ("content", "content_index"),
    "response.reasoning_summary_part.added": ("summary", "summary_index"),
    "response.reasoning_summary_part.done": ("summary", "summary_index"),
}

_ABOUT: Final[dict[str, Holds]] = {"item_id": is_text, "output_index": is_number}


def _progress(item: str, *verbs: str) -> dict[str, str]:
    return {f"response.{item}.{verb}": item for verb in verbs}


PROGRESS: Final[Mapping[str, str]] = {
    **_progress("web_search_call", "in_progress", "searching", "completed"),
    **_progress("file_search_call", "in_progress", "searching", "completed"),
    **_progress("code_interpreter_call", "in_progress", "interpreting", "completed"),
    **_progress("image_generation_call", "in_progress", "generating", "partial_image", "completed"),
    **_progress("mcp_call", "in_progress", "completed", "failed"),
    **_progress("mcp_list_tools", "in_progress", "completed", "failed"),
    **_progress("compaction", "compacting"),
}
"""Events that tell of the progress of an item, with the type of that item."""

REQUIRED: Final[dict[str, dict[str, Holds]]] = {
    **{name: {} for name in LIFECYCLE},
    "response.output_item.added": {"output_index": is_number, "item": is_object},
    "response.output_item.done": {"output_index": is_number, "item": is_object},
    "response.output_text.annotation.added": {**_ABOUT, "annotation": is_object},
    **{name: {**_ABOUT, index: is_number, "part": is_object} for name, (_, index) in PART_EVENTS.items()},
    **dict.fromkeys(PROGRESS, _ABOUT),
    **{
        name: {**_ABOUT, **({text.part_index: is_number} if text.part_index else {}), key: is_text}
        for text in STREAMED
        for name, key in ((text.delta, "delta"), (text.done, text.field))
    },
}
"""Every event that is judged, with the fields that it must have."""

OTHERS: Final = {
    "response.audio.delta",
    "response.audio.done",
    "response.audio.transcript.delta",
    "response.audio.transcript.done",
    "response.shell_call_command.added",
    "response.shell_call_command.delta",
    "response.shell_call_command.done",
    "response.shell_call_output_content.delta",
    "response.shell_call_output_content.done",
    "response.apply_patch_call_operation_diff.delta",
    "response.apply_patch_call_operation_diff.done",
    "response.output_item.interrupted",
    "response.interrupt.accepted",
    "response.steer.accepted",
    "response.steer.failed",
    "response.steer.pending",
}
"""Events of the Responses API of which only the number is checked. Those without `response.` are not checked."""
