"""FunctionSpecs and the client's choice -> chat `tools` and `tool_choice`."""

from collections.abc import Sequence
from typing import Any

from app.bridges.base import FunctionSpec
from app.bridges.table import BridgeTable, Choice
from app.dialects.chat.messages import ChatMessage


def chosen_tools(table: BridgeTable, *, by_name: bool) -> tuple[Sequence[FunctionSpec], Choice]:
    """The functions to offer, and the choice. Not `by_name`: what is demanded is offered alone, with `required`."""
    if by_name or table.choice.mode != "required":
        return table.specs, table.choice
    return table.demanded, Choice("required")


def to_tools(specs: Sequence[FunctionSpec], choice: Choice) -> dict[str, Any]:
    """Both keys, or neither: servers refuse an empty list, and a choice without one."""
    if not specs:
        return {}
    tools: dict[str, Any] = {"tools": [_tool(spec) for spec in specs]}
    if choice.name is not None:
        tools["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice.mode != "auto":  # servers take `auto` for granted
        tools["tool_choice"] = choice.mode
    return tools


def past_tools(messages: Sequence[ChatMessage]) -> list[FunctionSpec]:
    """The functions that a history calls, for servers that accept no past call of an undeclared one."""
    names = {call["function"]["name"]: None for message in messages for call in message.get("tool_calls", ())}
    return [FunctionSpec(name=name, description="A tool of an earlier turn; it cannot be called.") for name in names]


def _tool(spec: FunctionSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name}
    if spec.description:
        function["description"] = spec.description
    function["parameters"] = spec.parameters or {"type": "object", "properties": {}}
    if spec.strict is not None:
        function["strict"] = spec.strict
    return {"type": "function", "function": function}
