"""A turn's `tool_choice`: which tools the model may call, and which it must."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, assert_never

from ..protocol.problems import ProblemError, refuse
from ..protocol.request.tool_choice import AllowedTools, ChosenTool, ToolChoice
from .base import BridgedTool
from .registry import BRIDGES


class Choice(NamedTuple):
    """The choice as it is sent to the model. With a `name`, the model must call that function."""

    mode: Literal["auto", "none", "required"]
    name: str | None = None


def read_choice(
    tool_choice: ToolChoice,
    tools: Sequence[BridgedTool],
    *,
    waiting: Sequence[BridgedTool] = (),
    elsewhere: Callable[[str], bool],
) -> tuple[Choice, frozenset[str] | None]:
    """The choice that is sent to the model, and the only names that it may call (None: any).

    `waiting` are tools that a search has not found yet. They may be allowed before: a client sends the same
    `tool_choice` in every turn. `elsewhere` is true of a tool type that a server runs. Neither kind may be demanded.
    """
    match tool_choice:
        case "none":
            return Choice("none"), frozenset()
        case "auto":
            return Choice("auto"), None
        case "required":
            if not tools:
                message = "'tool_choice' demands a call, but there is no tool to call."
                raise refuse("invalid_value", message, "tool_choice")
            return Choice("required"), None
        case AllowedTools():
            return _read_allowed(tool_choice, tools, waiting, elsewhere)
        case ChosenTool() if elsewhere(tool_choice.type):
            raise _run_elsewhere(tool_choice.type)
        case ChosenTool():
            named = _Meanings(tools).named(tool_choice, "tool_choice")
            return _must_call(named), frozenset(named)
        case _:
            assert_never(tool_choice)


def permits(tool_choice: ToolChoice, elsewhere: Callable[[str], bool]) -> bool:
    """Whether the client lets a server run such a tool."""
    if isinstance(tool_choice, AllowedTools):
        return any(elsewhere(chosen.type) for chosen in tool_choice.tools)
    return tool_choice != "none"


def _read_allowed(
    choice: AllowedTools,
    tools: Sequence[BridgedTool],
    waiting: Sequence[BridgedTool],
    elsewhere: Callable[[str], bool],
) -> tuple[Choice, frozenset[str]]:
    meanings = _Meanings([*tools, *waiting])
    paths: dict[_Meaning, tuple[ChosenTool, str]] = {}  # a list may name one tool, or a namespace, many times
    for index, chosen in enumerate(choice.tools):
        if not elsewhere(chosen.type):
            paths.setdefault(_meaning(chosen), (chosen, f"tool_choice.tools[{index}]"))
    allowed = frozenset(name for chosen, path in paths.values() for name in meanings.named(chosen, path))
    offered = [bridged.spec.name for bridged in tools if bridged.spec.name in allowed]
    if choice.mode == "auto":
        return Choice("auto" if offered else "none"), allowed
    if not offered:
        kind = next((chosen.type for chosen in choice.tools if elsewhere(chosen.type)), None)
        if kind is not None:
            raise _run_elsewhere(kind)
        raise refuse("invalid_value", "'tool_choice' demands a call, but allows no tool.", "tool_choice.tools")
    is_also_elsewhere = any(elsewhere(chosen.type) for chosen in choice.tools)
    return Choice("required") if is_also_elsewhere else _must_call(offered), allowed


def _run_elsewhere(kind: str) -> ProblemError:
    message = (
        f"'tool_choice' demands '{kind[:64]}', which the model's own server runs, and which cannot be demanded here."
    )
    return refuse("invalid_value", message, "tool_choice")


def _must_call(names: list[str]) -> Choice:
    """A single function is named; among several, the model chooses."""
    return Choice("required", names[0] if len(names) == 1 else None)


_Meaning = tuple[str, str | None, str | None]
"""What identifies a chosen tool: type, name and namespace, the last two where the type has them."""


class _Meanings:
    """The functions that carry the tools, by the names that the client uses. A table, because there may be many."""

    def __init__(self, tools: Sequence[BridgedTool]) -> None:
        self._names: defaultdict[_Meaning, list[str]] = defaultdict(list)
        for bridged in tools:
            kind, _, namespace = bridged.tool
            self._names[bridged.tool if BRIDGES.has_names(kind) else (kind, None, None)].append(bridged.spec.name)
            if namespace is not None:
                self._names["namespace", namespace, None].append(bridged.spec.name)

    def named(self, chosen: ChosenTool, path: str) -> list[str]:
        """The names of the functions that carry a chosen tool, at least one."""
        if names := self._names.get(_meaning(chosen)):
            return names
        tool = f"the tool '{chosen.name}'" if chosen.name else f"a tool of type '{chosen.type}'"
        message = f"'{path}' names {tool}, which is not among the tools the model is offered."
        raise refuse("invalid_value", message, path)


def _meaning(chosen: ChosenTool) -> _Meaning:
    if chosen.type == "namespace":
        return chosen.type, chosen.name, None
    return (chosen.type, chosen.name, chosen.namespace) if BRIDGES.has_names(chosen.type) else (chosen.type, None, None)
