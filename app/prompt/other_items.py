"""Items about tools that no model here has: what of them is told as text, and what is left out."""

from typing import Any, Final

import msgspec

from ..protocol.request.input_items import UnknownItem

CONTEXT_LENGTH: Final = 8_000
"""The most characters of an item that is sent as text."""

CALLS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "code_interpreter_call": ("code", "outputs"),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries", "results"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error"),
    "multi_agent_call": ("action", "arguments"),
    "program": ("code",),
    "web_search_call": ("action",),
}
"""Calls of tools that the model does not have, and the keys that describe each call."""

OUTPUTS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "mcp_approval_response": ("approve", "reason"),
    "multi_agent_call_output": ("action", "output"),
    "program_output": ("result",),
}
"""Outputs of such tools, and the keys that hold each output."""

SKIPPED: Final = frozenset({"ghost_snapshot", "mcp_list_tools"})
"""Items without meaning for the model: they set up tools that it does not have, or are the client's own notes."""


def as_text(item: UnknownItem, keys: tuple[str, ...]) -> str:
    """The item as text, with these keys of it."""
    extras: dict[str, Any] = item.model_extra or {}
    context = {key: extras[key] for key in keys if extras.get(key) is not None}
    text = f"[{item.type}] {msgspec.json.encode(context).decode()}" if context else f"[{item.type}]"
    return text if len(text) <= CONTEXT_LENGTH else text[:CONTEXT_LENGTH] + "…"
