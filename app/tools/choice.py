"""A turn's `tool_choice`: which functions the model may call, and which it must."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal

import msgspec

from ..types.problems import refuse
from ..types.request import AllowedTools, ChosenTool
from .base import Carried, NamedTool

Chosen = Literal["auto", "none", "required"] | ChosenTool | AllowedTools
_Names = Mapping[tuple[str | None, ...], Sequence[str]]
"""The names of the functions that carry a chosen tool, by what a client calls it."""


NO_CALL = "'tool_choice' demands a tool call, and the model made none that it allows."
"""A warning."""


class Choice(msgspec.Struct, frozen=True):
    """Whether the model may or must call a function, and which."""

    mode: Literal["auto", "none", "required"] = "auto"
    name: str | None = None


def read_choice(
    chosen: Chosen, offered: Sequence[Carried], known: Iterable[Carried], hosted: tuple[str, ...]
) -> tuple[Choice, frozenset[str] | None]:
    """The choice, and the names of the only functions that may be called; None: any.

    `known` are also tools that a search has not found yet. They may be allowed before: a client sends the same
    `tool_choice` in every turn. `hosted` is how the types of tools begin that the model's server runs. Neither kind
    may be demanded.
    """
    if isinstance(chosen, str):
        if chosen == "required" and not offered:
            message = "'tool_choice' demands a call, but there is no tool to call."
            raise refuse("invalid_value", message, "tool_choice")
        return Choice(chosen), frozenset() if chosen == "none" else None
    if isinstance(chosen, ChosenTool):
        tools, meanings = [(chosen, "tool_choice")], _by_meaning(offered)
    else:
        tools = [(tool, f"tool_choice.tools[{index}]") for index, tool in enumerate(chosen.tools)]
        meanings = _by_meaning(known)
    theirs = [tool.type for tool, _ in tools if tool.type.startswith(hosted)]
    ours = [_named(tool, meanings, path) for tool, path in tools if not tool.type.startswith(hosted)]
    allowed = frozenset(chain.from_iterable(ours))
    names = [carried.spec.name for carried in offered if carried.spec.name in allowed]
    if isinstance(chosen, AllowedTools) and chosen.mode == "auto":
        return Choice("auto" if names else "none"), allowed
    if not names and theirs:
        message = f"'tool_choice' demands '{theirs[0][:64]}', which the model's own server runs, and which cannot be"
        raise refuse("invalid_value", f"{message} demanded here.", "tool_choice")
    if not names:
        raise refuse("invalid_value", "'tool_choice' demands a call, but allows no tool.", "tool_choice.tools")
    only = len(names) == 1 and not theirs  # a single function is named; among several, the model chooses
    return Choice("required", names[0] if only else None), allowed


def demands_call(chosen: Chosen) -> bool:
    """Whether the client demands a call, be it of a tool that the model's server runs."""
    return chosen == "required" or isinstance(chosen, ChosenTool) or getattr(chosen, "mode", "") == "required"


def permits_hosted(chosen: Chosen, hosted: tuple[str, ...]) -> bool:
    """Whether the client lets the model's server run its tools: what they do cannot be ruled out afterwards."""
    if isinstance(chosen, AllowedTools):
        return any(tool.type.startswith(hosted) for tool in chosen.tools)
    return chosen != "none"


def _by_meaning(tools: Iterable[Carried]) -> _Names:
    names: defaultdict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for tool, spec, kind, _ in tools:
        names[tool if issubclass(kind.tool, NamedTool) else (tool.type,)].append(spec.name)
        if tool.namespace is not None:
            names["namespace", tool.namespace].append(spec.name)
    return names


def _named(chosen: ChosenTool, names: _Names, path: str) -> Sequence[str]:
    """At least one name."""
    nameless = ("namespace", chosen.name) if chosen.type == "namespace" else (chosen.type,)
    if found := names.get((chosen.type, chosen.name, chosen.namespace)) or names.get(nameless):
        return found
    tool = f"the tool '{chosen.name}'" if chosen.name else f"a tool of type '{chosen.type}'"
    message = f"'{path}' names {tool}, which is not among the tools the model is offered."
    raise refuse("invalid_value", message, path)
