"""One turn's tools, by the name of the function that carries each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..emitter.open_items import ItemPosition, OpenCall
from ..options import NamedToolChoice
from ..protocol.problems import refuse
from ..protocol.request.input_items import InputItem
from ..protocol.request.tool_choice import ToolChoice
from ..protocol.request.tool_items import NamedCallItem, ToolItem, ToolsItem
from ..protocol.request.tools import NamedTool, Tool
from ..protocol.warnings import ClientWarning
from .base import Bridge, BridgedTool, FunctionSpec, PastCall, PastOutput
from .choice import Choice, permits, read_choice
from .namespace_members import Member, members
from .naming import DEFAULT_NAMESPACE, Names, ToolName
from .program_calls import FOR_PROGRAMS, lost_members, only_for_programs
from .registry import BRIDGES, wire_type
from .tool_types.function import FUNCTION, FunctionTool
from .tool_types.tool_search import ToolSearchTool

FAILED: Final = frozenset({"incomplete", "failed"})
"""Statuses of outputs of tools that failed."""


class Offer(NamedTuple):
    """A tool that the client offers."""

    member: Member
    list_path: str
    """The path of the list that holds it."""
    found: bool
    """Whether a search found it: then it is offered even if it has `defer_loading`."""


class BridgeTable:
    """One turn's tools: their declarations, their past calls, and which of them the model may call.

    They keep the order of the request: first those in `tools`, then those in `input`, added or found by a search.
    If the client can search, a tool with `defer_loading` is offered only after a search has found it.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        tool_choice: ToolChoice = "auto",
        *,
        items: Sequence[InputItem] = (),
        positions: Sequence[int] | None = None,
        hosted: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`hosted`: whether a server runs this type of tool, or the model can do the same without it."""
        self.warnings: tuple[ClientWarning, ...] = ()
        """One for each tool that was left out."""
        self.lost: tuple[ClientWarning, ...] = ()
        """One for each member of tools that has no effect."""
        self.hosted: list[Tool] = []
        """The tools that a server runs, where the client permits one."""
        self._called = False
        offers = list(_offers(tools, zip(positions or range(len(items)), items, strict=True)))
        self._is_hosted = hosted
        self._names = Names(_functions(offers))
        self._known: dict[str, BridgedTool] = {}
        """Every tool by the name of its function: those on offer, those not found yet, those of past calls."""
        self._tools: set[ToolName] = set()
        """The names of all tools in `_known`."""
        self._offered = self._take(offers)
        waiting = [bridged for name, bridged in self._known.items() if name not in self._offered]
        self.choice, self._allowed = read_choice(
            tool_choice,
            list(self._offered.values()),
            waiting=waiting,
            elsewhere=self._is_hosted,
        )
        if not permits(tool_choice, self._is_hosted):
            self.hosted = []

    @property
    def specs(self) -> list[FunctionSpec]:
        """Every function the model is offered, in the client's order."""
        return [bridged.spec for bridged in self._offered.values()]

    def offer(self, named: NamedToolChoice) -> tuple[list[FunctionSpec], Choice]:
        """The functions to offer, and the choice. A server that takes no names gets only those that may be called."""
        if named == "name" or self.choice.mode != "required":
            return self.specs, self.choice
        return [spec for spec in self.specs if self.allows(spec.name)], Choice("required")

    @property
    def lacks_demanded_call(self) -> bool:
        """Whether the client demands a call and the model has made none. One by its own server may have been it."""
        return self.choice.mode == "required" and not self._called and not self.hosted

    def allows(self, name: str) -> bool:
        """Whether the client permits this call. An undeclared function is allowed if no restriction is set."""
        return self._allowed is None or name in self._allowed

    def carries(self, name: str) -> bool:
        """Whether the function of this name carries a tool of another type, name or shape."""
        bridged = self._known.get(name)
        return bridged is not None and not bridged.bridge.is_plain(bridged)

    def item_prefix(self, name: str) -> str:
        """The id prefix of such a call."""
        return self._bridged(name).bridge.item_prefix

    def open_call(self, name: str, call_id: str, position: ItemPosition) -> OpenCall:
        """The open item for such a call."""
        self._called = True
        bridged = self._bridged(name)
        return bridged.bridge.open_call(bridged, call_id, position)

    def read_call(self, item: InputItem) -> PastCall | None:
        """The past call in this item; None if it holds none that a bridge knows."""
        bridge = BRIDGES.by_call.get(item.type)
        if bridge is None:
            return None
        return bridge.read_call(item, self._past_tool(self._meant(_tool_of(item, bridge)), bridge))

    def read_output(self, item: InputItem) -> PastOutput | None:
        """The past output in this item; None if it holds none that a bridge knows."""
        bridge = BRIDGES.by_output.get(item.type)
        if bridge is None:
            return None
        output = bridge.read_output(item, self._names)
        return output._replace(failed=True) if item.member("status") in FAILED else output

    def _bridged(self, name: str) -> BridgedTool:
        """The tool of the function with this name. An undeclared function is passed through unchanged."""
        known = self._known.get(name)
        return BridgedTool(ToolName("function", name), FunctionSpec(name=name), FUNCTION) if known is None else known

    def _meant(self, tool: ToolName) -> ToolName:
        """The tool of a past call. OpenAI gives a function that was found by a search its own name as its namespace.

        A client may also have had its tools in the default namespace before, or only now.
        """
        if tool in self._tools:
            return tool
        alone = tool._replace(namespace=None)
        equal = {tool.name: alone, DEFAULT_NAMESPACE: alone, None: tool._replace(namespace=DEFAULT_NAMESPACE)}
        other = equal.get(tool.namespace, tool)
        return other if other in self._tools else tool

    def _past_tool(self, tool: ToolName, bridge: Bridge) -> BridgedTool:
        """A tool that was called in the past, declared or not. The model may call it again."""
        name = self._names.of(tool)
        bridged = self._known.get(name)
        if bridged is None:
            bridged = self._known[name] = BridgedTool(tool, FunctionSpec(name=name), bridge)
            self._tools.add(tool)
        return bridged

    def _take(self, offers: Sequence[Offer]) -> dict[str, BridgedTool]:
        offered: dict[str, BridgedTool] = {}
        if not offers:
            return offered
        searches = [tool for offer in offers if isinstance(tool := offer.member.tool, ToolSearchTool)]
        can_search = any(search.execution == "client" for search in searches)
        seen: set[tuple[str, ToolName]] = set()
        left_out: list[ClientWarning] = []
        for offer in offers:
            member = offer.member
            if self._is_hosted(member.tool.type):
                self.hosted.append(member.tool)
                continue
            if only_for_programs(member.tool):
                left_out.append(_left_out(member, FOR_PROGRAMS))
                continue
            if (bridged := self._declare(member)) is None:
                details = f"its type '{member.tool.type[:64]}' cannot be offered to this model."
                left_out.append(_left_out(member, details))
                continue
            if not offer.found and (offer.list_path, member.name) in seen:
                name = member.name.name
                message = f"'{member.path}' cannot be distinguished from another tool: both are named '{name}'."
                raise refuse("invalid_value", message, member.path)
            seen.add((offer.list_path, member.name))
            self._known[bridged.spec.name] = bridged
            self._tools.add(bridged.tool)
            waits = can_search and not offer.found and _may_load_later(member.tool)
            if not waits or bridged.spec.name in offered:
                offered[bridged.spec.name] = bridged
        self.warnings = tuple(left_out)
        self.lost = tuple(lost_members(bridged.definition for bridged in offered.values() if bridged.definition))
        return offered

    def _declare(self, member: Member) -> BridgedTool | None:
        """The tool with its function; None if no function can carry it."""
        tool = member.tool
        bridge = BRIDGES.by_tool.get(tool.type)
        spec = None if bridge is None else bridge.declare(tool, self._names.of(member.name))
        if bridge is None or spec is None:
            return None
        if member.about:
            spec = replace(spec, description="\n\n".join(filter(None, (member.about, spec.description))))
        return BridgedTool(member.name, spec, bridge, tool)


def _left_out(member: Member, details: str) -> ClientWarning:
    return ClientWarning(member.path, "tool", f"{member.path} was left out: {details}")


def _offers(tools: Sequence[Tool], items: Iterable[tuple[int, InputItem]]) -> Iterator[Offer]:
    """Every tool, in the order of the request. Items are named by their positions in the posted `input`."""
    yield from _offers_in(tools, "tools", found=False)
    for index, item in items:
        if isinstance(item, ToolsItem):
            found = isinstance(item, ToolItem)  # by a tool, whose output this is
            yield from _offers_in(item.tools, f"input[{index}].tools", found=found)


def _offers_in(tools: Sequence[Tool], list_path: str, *, found: bool) -> Iterator[Offer]:
    for index, tool in enumerate(tools):
        for member in members(tool, f"{list_path}[{index}]"):
            yield Offer(member, list_path, found)


def _functions(offers: Sequence[Offer]) -> Iterator[str]:
    """Names of the client's own functions: no function of another tool may have them."""
    for offer in offers:
        if isinstance(offer.member.tool, FunctionTool) and offer.member.name.namespace is None:
            yield offer.member.name.name


def _tool_of(item: InputItem, bridge: Bridge) -> ToolName:
    """The name of the tool of a past call."""
    kind = wire_type(bridge.tool)
    return ToolName(kind, item.name, item.namespace) if isinstance(item, NamedCallItem) else ToolName(kind, kind)


def _may_load_later(tool: Tool) -> bool:
    return isinstance(tool, NamedTool) and tool.defer_loading is True
