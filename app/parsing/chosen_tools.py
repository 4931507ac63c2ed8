"""The `tool_choice` of a request."""

from typing import Any

from ..bridges.registry import BRIDGES
from ..protocol.problems import refuse
from ..protocol.request.tool_choice import AllowedTools, ChosenTool, ToolChoice
from .bounds import within
from .validation import an_array, an_object, missing, type_of, validated, wrong_type


def parse_tool_choice(raw: object, max_tools: int) -> ToolChoice:
    """One of three words, one tool, or a list of allowed tools."""
    path = "tool_choice"
    match raw:
        case "auto" | "none" | "required":
            return raw
        case str():
            message = f"Invalid value for '{path}': expected 'auto', 'none', 'required' or an object."
            raise refuse("invalid_value", message, path)
        case dict():
            if isinstance(raw.get("tools"), list):
                within(raw["tools"], max_tools, f"{path}.tools", "max_tools")
            return _parse_chosen(raw, path)
        case _:
            raise wrong_type(path, "a string or an object", raw)


def _parse_chosen(raw: dict[str, Any], path: str) -> ChosenTool | AllowedTools:
    if type_of(raw, path) != "allowed_tools":
        return _parse_one(raw, path)
    if raw.get("tools") is None:
        raise missing(f"{path}.tools")
    tools = an_array(raw["tools"], f"{path}.tools")
    chosen = [_parse_one(tool, f"{path}.tools[{index}]") for index, tool in enumerate(tools)]
    members = {key: value for key, value in raw.items() if value is not None}
    return validated(AllowedTools, {**members, "tools": chosen}, path)


def _parse_one(raw: object, path: str) -> ChosenTool:
    tool = an_object(raw, path)
    kind = type_of(tool, path)
    if (kind == "namespace" or BRIDGES.has_names(kind)) and tool.get("name") is None:
        raise missing(f"{path}.name")
    return validated(ChosenTool, tool, path)
