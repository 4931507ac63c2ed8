"""The only list of bridges, and one turn's tools by the name of the function that carries each."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, assert_never

from app.bridges.base import Bridge, Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.function import FunctionBridge
from app.protocol.problems import refuse
from app.protocol.request import AllowedTools, ChosenTool, InputItem, Tool, ToolChoice
from app.turn.open_items import OpenCall, OpenFunctionCall, Place

FUNCTION: Final = FunctionBridge()
BRIDGES: Final[tuple[Bridge, ...]] = (FUNCTION,)

_BY_TOOL: Final = {bridge.tool_type: bridge for bridge in BRIDGES}
_BY_CALL: Final = {bridge.call_type: bridge for bridge in BRIDGES}
_BY_OUTPUT: Final = {bridge.output_type: bridge for bridge in BRIDGES}


class Choice(NamedTuple):
    """What the model is told of `tool_choice`. With a `name`, it must call that carrier."""

    mode: Literal["auto", "none", "required"]
    name: str | None = None


class BridgeTable:
    """One turn's tools. It declares them, retells their past calls, and tells the emitter what may be called."""

    def __init__(self, tools: Sequence[Tool], tool_choice: ToolChoice = "auto") -> None:
        self.warnings: list[str] = []
        """A sentence for each tool that was left out."""
        self._carriers = _carriers(tools, self.warnings)
        self.choice, self._allowed = _read_choice(tool_choice, self._carriers)

    @property
    def specs(self) -> list[FunctionSpec]:
        """Every function the model is told of, in the client's order."""
        return [carrier.spec for carrier in self._carriers.values()]

    def allows(self, name: str) -> bool:
        """Whether the client permits this call. A function nobody declared is passed on: the client decides."""
        return self._allowed is None or name in self._allowed

    def item_prefix(self, name: str) -> str:
        """The id prefix of such a call."""
        carrier = self._carriers.get(name)
        return FUNCTION.item_prefix if carrier is None else carrier.bridge.item_prefix

    def open_call(self, name: str, call_id: str, place: Place) -> OpenCall:
        """The open item for such a call."""
        carrier = self._carriers.get(name)
        if carrier is None:
            return OpenFunctionCall(place, name, call_id)
        return carrier.bridge.open_call(carrier, call_id, place)

    def retell_call(self, item: InputItem) -> RetoldCall | None:
        """The past call in this item; None if it holds none that a bridge knows."""
        bridge = _BY_CALL.get(item.type)
        return None if bridge is None else bridge.retell_call(item)

    def retell_output(self, item: InputItem) -> RetoldOutput | None:
        """The past output in this item; None if it holds none that a bridge knows."""
        bridge = _BY_OUTPUT.get(item.type)
        return None if bridge is None else bridge.retell_output(item)


def _carriers(tools: Sequence[Tool], warnings: list[str]) -> dict[str, Carrier]:
    carriers: dict[str, Carrier] = {}
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        bridge = _BY_TOOL.get(tool.type)
        if bridge is None:
            kind = f"its type '{tool.type[:64]}'"
            warnings.append(f"{path} was left out: {kind} cannot be offered to this model.")
            continue
        for carrier in bridge.declare(tool, path):
            if carrier.spec.name in carriers:
                message = f"'{path}' cannot be told apart from another tool: both are named '{carrier.spec.name}'."
                raise refuse("invalid_value", message, path)
            carriers[carrier.spec.name] = carrier
    return carriers


def _read_choice(tool_choice: ToolChoice, carriers: Mapping[str, Carrier]) -> tuple[Choice, frozenset[str] | None]:
    """What the model is told, and the only names it may call (None: any)."""
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
            return _read_allowed(tool_choice, carriers)
        case ChosenTool():
            return _must_call(_named(tool_choice, "tool_choice", carriers)), None
        case _:
            assert_never(tool_choice)


def _read_allowed(choice: AllowedTools, carriers: Mapping[str, Carrier]) -> tuple[Choice, frozenset[str]]:
    allowed = [
        name
        for index, chosen in enumerate(choice.tools)
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


def _named(chosen: ChosenTool, path: str, carriers: Mapping[str, Carrier]) -> list[str]:
    """The carriers of a chosen tool, at least one."""
    names = [
        name
        for name, carrier in carriers.items()
        if carrier.tool.type == chosen.type and chosen.name in (None, carrier.tool.name)
    ]
    if names:
        return names
    tool = f"the tool '{chosen.name}'" if chosen.name else f"a tool of type '{chosen.type}'"
    raise refuse("invalid_value", f"'{path}' names {tool}, which is not among the tools the model is offered.", path)
