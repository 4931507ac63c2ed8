"""Which tools the model may or must call."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, SkipValidation

from app.protocol.problems import refuse
from app.protocol.request.posted import Shape, an_array, an_object, missing, type_of, validated, wrong_type

Named = Annotated[str, Field(max_length=256)]
"""What no tool of that length is called is refused before it is looked for."""


class ChosenTool(Shape):
    """One tool, named by its type and, where that type has names, by its name."""

    type: Named
    name: Named | None = None
    namespace: Named | None = None


class AllowedTools(Shape):
    """The only tools that may be called."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"] = "auto"
    tools: Annotated[list[ChosenTool], SkipValidation]


NAMED: Final = frozenset({"function", "custom", "namespace"})
"""Tool types that can be chosen by name only."""

ToolChoice = Literal["auto", "none", "required"] | ChosenTool | AllowedTools


def parse_tool_choice(raw: object) -> ToolChoice:
    """One of three words, one tool, or a list of allowed tools."""
    path = "tool_choice"
    match raw:
        case "auto" | "none" | "required":
            return raw
        case str():
            message = f"Invalid value for '{path}': expected 'auto', 'none', 'required' or an object."
            raise refuse("invalid_value", message, path)
        case dict():
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
    given = {key: value for key, value in raw.items() if value is not None}
    return validated(AllowedTools, {**given, "tools": chosen}, path)


def _parse_one(raw: object, path: str) -> ChosenTool:
    tool = an_object(raw, path)
    if type_of(tool, path) in NAMED and tool.get("name") is None:
        raise missing(f"{path}.name")
    return validated(ChosenTool, tool, path)
