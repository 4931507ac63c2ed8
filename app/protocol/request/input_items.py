"""Input items: what was said and done so far."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from app.protocol.problems import ProblemError, refuse
from app.protocol.request.input_parts import parse_content
from app.protocol.request.posted import Shape, an_object, missing, type_of, validated
from app.protocol.request.tool_items import (
    AdditionalToolsItem,
    ApplyPatchCallItem,
    ApplyPatchCallOutputItem,
    CustomToolCallItem,
    CustomToolCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    LocalShellCallItem,
    LocalShellCallOutputItem,
    ParsedContent,
    ShellCallItem,
    ShellCallOutputItem,
    ToolItem,
    ToolSearchCallItem,
    ToolSearchOutputItem,
)
from app.protocol.request.tools import parse_tools


class MessageItem(Shape):
    """Something said by somebody."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: ParsedContent
    id: str | None = None
    status: str | None = None
    phase: str | None = None


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is to think."""


class Thought(Shape):
    """One piece of reasoning, in its own words or summed up."""

    type: str = "summary_text"
    text: str


class ReasoningItem(Shape):
    """What a model thought. `encrypted_content` is for the server that wrote it."""

    type: Literal["reasoning"]
    summary: Annotated[list[Thought], Field(fail_fast=True)] | None = None
    content: Annotated[list[Thought], Field(fail_fast=True)] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: str | None = None


class AgentMessageItem(Shape):
    """What one of a team of agents tells another. It is sealed for OpenAI's servers only: here it is plain text."""

    type: Literal["agent_message"]
    content: ParsedContent
    author: str | None = None
    recipient: str | None = None


class Configuration(Shape):
    """How much the model should think from here on."""

    effort: Effort | None = None


class ConfigurationUpdateItem(Shape):
    """A change of settings in mid-conversation. The last one holds."""

    type: Literal["configuration_update"]
    reasoning: Configuration | None = None


class CompactionItem(Shape):
    """What is left of a conversation, sealed for the server that summed it up."""

    type: Literal["compaction", "compaction_summary"] = "compaction"
    encrypted_content: str
    id: str | None = None


class CompactionTriggerItem(Shape):
    """At the end: nothing is wanted but a compaction item."""

    type: Literal["compaction_trigger"] = "compaction_trigger"


class UnknownItem(Shape):
    """An item of a type without a shape of its own, all its keys kept; a dialect decides what becomes of it."""

    type: str


InputItem = (
    MessageItem
    | ToolItem
    | ReasoningItem
    | AdditionalToolsItem
    | AgentMessageItem
    | ConfigurationUpdateItem
    | CompactionItem
    | CompactionTriggerItem
    | UnknownItem
)

ITEMS: Final[dict[str, type[InputItem]]] = {
    "message": MessageItem,
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
    "custom_tool_call": CustomToolCallItem,
    "custom_tool_call_output": CustomToolCallOutputItem,
    "tool_search_call": ToolSearchCallItem,
    "tool_search_output": ToolSearchOutputItem,
    "local_shell_call": LocalShellCallItem,
    "local_shell_call_output": LocalShellCallOutputItem,
    "shell_call": ShellCallItem,
    "shell_call_output": ShellCallOutputItem,
    "apply_patch_call": ApplyPatchCallItem,
    "apply_patch_call_output": ApplyPatchCallOutputItem,
    "additional_tools": AdditionalToolsItem,
    "agent_message": AgentMessageItem,
    "compaction": CompactionItem,
    "compaction_summary": CompactionItem,
    "compaction_trigger": CompactionTriggerItem,
    "configuration_update": ConfigurationUpdateItem,
    "reasoning": ReasoningItem,
}
_CONTENT: Final[dict[str, str]] = {
    "message": "content",
    "agent_message": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
"""The key that holds content parts, by item type."""
_WITH_TOOLS: Final = frozenset({"additional_tools", "tool_search_output"})


_LISTS: Final = ("content", "output", "summary", "tools")
_LISTS_OF_ACTIONS: Final = ("command", "commands")


def entries_of(raw: object) -> int:
    """How many parts, thoughts, commands, outputs or tools stand in this item, or tools in this tool."""
    if not isinstance(raw, dict):
        return 0
    count = 0
    for name in _LISTS:
        held = raw.get(name)
        if isinstance(held, list):
            count += len(held)
            if name == "tools":
                count += sum(map(entries_of, held))
    action = raw.get("action")
    if isinstance(action, dict):
        count += sum(len(held) for name in _LISTS_OF_ACTIONS if isinstance(held := action.get(name), list))
    return count


def parse_item(raw: object, path: str) -> InputItem:
    """One item, by its `type`; without one it is a message."""
    item = an_object(raw, path)
    kind = _kind(item, path)
    if kind == "item_reference":
        raise _reference(path)
    if (key := _CONTENT.get(kind)) is not None:
        content = _unsealed(item.get(key)) if kind == "agent_message" else item.get(key)
        item = {**item, "type": kind, key: parse_content(content, f"{path}.{key}")}
    elif kind in _WITH_TOOLS:
        if item.get("tools") is None:
            raise missing(f"{path}.tools")
        item = {**item, "tools": parse_tools(item["tools"], f"{path}.tools")}
    return validated(ITEMS.get(kind, UnknownItem), item, path)


def _kind(item: dict[str, Any], path: str) -> str:
    if item.get("type") is not None:
        return type_of(item, path)
    if "role" not in item and "content" not in item and item.get("id") is not None:
        return "item_reference"  # its type may be left out, by the API's own types
    return "message"


def _unsealed(content: object) -> object:
    """The parts of an agent's message, those in `encrypted_content` as what they are."""
    if not isinstance(content, list):
        return content
    return [
        {"type": "input_text", "text": part.get("encrypted_content")}
        if isinstance(part, dict) and part.get("type") == "encrypted_content"
        else part
        for part in content
    ]


def _reference(path: str) -> ProblemError:
    return refuse(
        "unsupported_parameter",
        f"'{path}' refers to an item stored by an earlier response. This server is stateless and stores nothing: "
        "send the items themselves in 'input', and set `store: false` so that your client keeps them.",
        path,
    )
