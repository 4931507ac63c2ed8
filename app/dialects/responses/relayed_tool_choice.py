"""Enforces the client's `tool_choice` on a relayed answer: llama.cpp and others ignore it where it is an object.

Calls of functions and custom tools are checked, because the client runs them. A call that the client does not allow is
left out of the events and of the final response, with a warning. Later items get lower positions.
"""

from bisect import bisect_left
from typing import Any, Final

from ...bridges.table import BridgeTable
from ...emitter.call_register import LONGEST_NAME, MOST_NAMES, tool_choice_warnings
from ...protocol.request.tool_choice import AllowedTools, ChosenTool, ToolChoice
from ...protocol.warnings import ClientWarning
from .positions import ADDED, DONE

Json = dict[str, Any]

CALLS: Final = frozenset({"function_call", "custom_tool_call"})
NAMED: Final = frozenset({"function", "custom", "namespace"})
"""Tool types that are chosen by name: the ones whose calls are checked."""


class ToolChoiceFilter:
    """Leaves out the calls of one answer that `tool_choice` does not allow. Events must have an `output_index`."""

    def __init__(self, choice: ToolChoice, table: BridgeTable | None = None) -> None:
        """`table`: the tools behind the functions, where some are bridged. It then says what is allowed."""
        self._allowed = _allowed(choice)
        self._table = table
        self._demands = _demands(choice)
        self._left_out: list[int] = []
        """Positions of the calls that were left out, in their order."""
        self._names: dict[str, None] = {}
        self._lacks_call = False
        """Whether the answer is over without the call that the client demands."""

    @property
    def warnings(self) -> list[ClientWarning]:
        """Warnings about the answer so far."""
        return tool_choice_warnings(self._names, lacks_call=self._lacks_call)

    def leaves_out(self, name: str, event: Json) -> bool:
        """Whether this event is about a call that is left out. If not, the event gets its new position."""
        index = event["output_index"]
        earlier = bisect_left(self._left_out, index)
        if self._left_out[earlier : earlier + 1] == [index]:
            return True
        if name in {ADDED, DONE} and self._rules_out(event.get("item")):
            self._left_out.insert(earlier, index)
            if len(self._names) < MOST_NAMES:
                self._names[str(event["item"].get("name"))[:LONGEST_NAME]] = None
            return True
        event["output_index"] = index - earlier
        return False

    def final(self, output: list[Any]) -> list[Any]:
        """The items of a response without the calls that are left out."""
        if self._allowed is None and self._table is None:
            return output
        return [item for item in output if not self._rules_out(item)]

    def end(self, status: str, items: list[Any]) -> None:
        """Checks at the end whether the call that the client demands is there. A hosted tool's call counts too."""
        called = any(isinstance(item, dict) and str(item.get("type")).endswith("_call") for item in items)
        self._lacks_call = self._demands and status == "completed" and not called

    def _rules_out(self, item: Any) -> bool:
        if not isinstance(item, dict) or item.get("type") not in CALLS:
            return False
        if self._table is not None:
            return not self._table.allows(str(item.get("name")))
        if self._allowed is None:
            return False
        return not self._allowed & {("name", item.get("name")), ("namespace", item.get("namespace"))}


def _allowed(choice: ToolChoice) -> frozenset[tuple[str, Any]] | None:
    """The names or namespaces a call may have; None if it may have any, as with a chosen tool that has no name."""
    match choice:
        case "none":
            return frozenset()
        case AllowedTools():
            return frozenset(map(_named, choice.tools))
        case ChosenTool() if choice.type in NAMED:
            return frozenset({_named(choice)})
        case _:
            return None


def _named(tool: ChosenTool) -> tuple[str, Any]:
    return ("namespace" if tool.type == "namespace" else "name", tool.name)


def _demands(choice: ToolChoice) -> bool:
    return choice == "required" or isinstance(choice, ChosenTool) or getattr(choice, "mode", "") == "required"
