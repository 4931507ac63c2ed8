"""What the client says of its tools: which the model may call, and which it must."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, assert_never

from app.bridges.base import Carrier
from app.bridges.naming import ToolName
from app.protocol.problems import refuse
from app.protocol.request import AllowedTools, ChosenTool, ToolChoice

_WITH_NAMES = frozenset({"function", "custom"})


class Choice(NamedTuple):
    """What the model is told of `tool_choice`. With a `name`, it must call that carrier."""

    mode: Literal["auto", "none", "required"]
    name: str | None = None


def read_choice(
    tool_choice: ToolChoice, carriers: Sequence[Carrier], *, elsewhere: Callable[[str], bool]
) -> tuple[Choice, frozenset[str] | None]:
    """What the model is told, and the only names it may call (None: any).

    `elsewhere` says of a tool type that the model's own server runs it: it may be allowed, but never demanded.
    """
    match tool_choice:
        case "none":
            return Choice("none"), frozenset()
        case "auto":
            return Choice("auto"), None
        case "required":
            if not carriers:
                message = "'tool_choice' demands a call, but there is no tool to call."
                raise refuse("invalid_value", message, "tool_choice")
            return Choice("required"), None
        case AllowedTools():
            return _read_allowed(tool_choice, carriers, elsewhere)
        case ChosenTool():
            return _must_call(_named(tool_choice, "tool_choice", carriers)), None
        case _:
            assert_never(tool_choice)


def _read_allowed(
    choice: AllowedTools, carriers: Sequence[Carrier], elsewhere: Callable[[str], bool]
) -> tuple[Choice, frozenset[str]]:
    allowed = [
        name
        for index, chosen in enumerate(choice.tools)
        if not elsewhere(chosen.type)
        for name in _named(chosen, f"tool_choice.tools[{index}]", carriers)
    ]
    if choice.mode == "auto":
        return Choice("auto" if allowed else "none"), frozenset(allowed)
    if not allowed:
        raise refuse("invalid_value", "'tool_choice' demands a call, but allows no tool.", "tool_choice.tools")
    return _must_call(allowed), frozenset(allowed)


def _must_call(names: list[str]) -> Choice:
    """One carrier can be named; of several, the model must choose."""
    return Choice("required", names[0] if len(names) == 1 else None)


def _named(chosen: ChosenTool, path: str, carriers: Sequence[Carrier]) -> list[str]:
    """The carriers of a chosen tool, at least one."""
    names = [carrier.spec.name for carrier in carriers if _is_meant(chosen, carrier.tool)]
    if names:
        return names
    tool = f"the tool '{chosen.name}'" if chosen.name else f"a tool of type '{chosen.type}'"
    raise refuse("invalid_value", f"'{path}' names {tool}, which is not among the tools the model is offered.", path)


def _is_meant(chosen: ChosenTool, tool: ToolName) -> bool:
    if chosen.type == "namespace":
        return chosen.name == tool.namespace
    if chosen.type not in _WITH_NAMES:
        return chosen.type == tool.type
    return (chosen.type, chosen.name, chosen.namespace) == tool
