"""Converts the functions of a prompt and the client's choice to chat `tools` and `tool_choice`."""

from collections.abc import Sequence
from typing import Any

from ...bridges.base import FunctionSpec
from ...bridges.choice import Choice


def to_tools(specs: Sequence[FunctionSpec], choice: Choice, *, parallel: bool | None = None) -> dict[str, Any]:
    """All fields about tools; empty without tools: servers refuse an empty list, and a choice without tools."""
    if not specs:
        return {}
    tools: dict[str, Any] = {"tools": [_tool(spec) for spec in specs]}
    if choice.name is not None:
        tools["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice.mode != "auto":  # `auto` is the default of servers
        tools["tool_choice"] = choice.mode
    if parallel is not None:
        tools["parallel_tool_calls"] = parallel
    return tools


def _tool(spec: FunctionSpec) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name}
    if spec.description:
        function["description"] = spec.description
    function["parameters"] = spec.parameters or {"type": "object", "properties": {}}
    if spec.strict is not None:
        function["strict"] = spec.strict
    return {"type": "function", "function": function}
