"""One turn's tools: the functions that carry them, and which of them the model may call."""

from typing import Any, Literal

import msgspec

from ..emitter.items import OpenCall, Position
from ..types.json import Json
from ..types.parse import ToolShapes
from ..types.problems import Warning, refuse
from ..types.request import AllowedTools, ChosenTool, Request
from .function import FunctionCallItem, FunctionCallOutputItem, FunctionTool

SHAPES = ToolShapes(
    tools={"function": FunctionTool},
    items={"function_call": FunctionCallItem, "function_call_output": FunctionCallOutputItem},
    named=frozenset({"function"}),
)


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function that a model may call."""

    name: str
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class Choice(msgspec.Struct, frozen=True):
    """Whether the model may or must call a function, and which."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys that hold schemas by name: any name, `encrypted` included."""
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
"""Keys that hold values, not schemas."""


def for_chat(parameters: Json | None) -> Json | None:
    """These parameters as a schema of an object, without `"encrypted": true`, which strict servers refuse."""
    if parameters is None:
        return None
    schema = _cleaned(parameters)
    return schema if schema.get("type") == "object" or not schema else {**schema, "type": "object"}


def _cleaned(schema: Json) -> Json:
    cleaned: Json = {}
    for key, value in schema.items():
        if key == "encrypted" and value is True:
            continue
        if key in _NAMED and isinstance(value, dict):
            cleaned[key] = {name: _within(inner) for name, inner in value.items()}
        else:
            cleaned[key] = value if key in _DATA else _within(value)
    return cleaned


def _within(value: Any) -> Any:
    if isinstance(value, dict):
        return _cleaned(value)
    return [_within(entry) for entry in value] if isinstance(value, list) else value


class Tools:
    """The functions that a model is offered, and which of them it may call."""

    def __init__(self, request: Request) -> None:
        self.warnings: list[Warning] = []
        """One for each tool that was left out."""
        specs: dict[str, FunctionSpec] = {}
        for index, tool in enumerate(request.offers):
            path = f"tools[{index}]"
            if not isinstance(tool, FunctionTool):
                details = f"{path} was left out: its type '{tool.type[:64]}' cannot be offered to this model."
                self.warnings.append(Warning(path, tool.type[:64], details))
                continue
            if tool.name in specs:
                message = f"'{path}' cannot be distinguished from another tool: both are named '{tool.name}'."
                raise refuse("invalid_value", message, path)
            try:
                parameters = for_chat(tool.parameters)
            except RecursionError:
                raise refuse("invalid_value", f"'{path}.parameters' is nested too deeply.", path) from None
            specs[tool.name] = FunctionSpec(
                name=tool.name, description=tool.description, parameters=parameters, strict=tool.strict
            )
        self.specs = tuple(specs.values())
        self.choice, self._allowed = _choice(request, specs)

    def allows(self, name: str) -> bool:
        """Whether the client permits this call. An undeclared function is allowed if no restriction is set."""
        return self._allowed is None or name in self._allowed

    def prefix(self, _name: str) -> str:
        """The prefix of the id of a call's item."""
        return "fc"

    def open_call(self, name: str, call_id: str, position: Position) -> OpenCall:
        """The open item for a call."""
        return OpenCall(position, name, call_id)


def _choice(request: Request, specs: dict[str, FunctionSpec]) -> tuple[Choice, frozenset[str] | None]:
    """The choice, and the names of the only functions that may be called; None: any."""
    choice = request.choice
    match choice:
        case "auto":
            return Choice(), None
        case "none":
            return Choice("none"), frozenset()
        case "required":
            if not specs:
                raise refuse("invalid_value", "'tool_choice' demands a call, and there are no tools.", "tool_choice")
            return Choice("required"), None
        case ChosenTool():
            name = _named(choice, specs, "tool_choice")
            return Choice("required", name), frozenset({name})
        case AllowedTools():
            names = [_named(tool, specs, f"tool_choice.tools[{i}]") for i, tool in enumerate(choice.tools)]
            allowed = frozenset(names)
            if choice.mode == "auto":
                return Choice("auto" if names else "none"), allowed
            if not names:
                message = "'tool_choice' demands a call, but allows no tool."
                raise refuse("invalid_value", message, "tool_choice.tools")
            return Choice("required", names[0] if len(allowed) == 1 else None), allowed
        case _:
            raise AssertionError(choice)


def _named(chosen: ChosenTool, specs: dict[str, FunctionSpec], path: str) -> str:
    if chosen.type == "function" and chosen.name in specs:
        return str(chosen.name)
    tool = f"the tool '{chosen.name}'" if chosen.name else f"a tool of type '{chosen.type}'"
    message = f"'{path}' names {tool}, which is not among the tools the model is offered."
    raise refuse("invalid_value", message, path)
