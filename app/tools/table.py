"""One turn's tools: the functions that carry them, and which of them the model may call."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ..emitter.items import OpenCall, Position
from ..types.parse import ToolShapes
from ..types.problems import Warnings, refuse
from ..types.request import AdditionalTools, Request, Tool, ToolItem
from .apply_patch import APPLY_PATCH
from .base import Carried, FunctionSpec, NamedCall, NamedTool, PastCall, PastOutput, PastOutputItem, ToolName, ToolType
from .choice import permits_hosted, read_choice
from .custom import CUSTOM
from .function import FUNCTION
from .naming import DEFAULT_NAMESPACE, Member, Names, members
from .shell import SHELL
from .tool_search import TOOL_SEARCH, ToolSearchOutputItem, ToolSearchTool

_TYPES = {kind.name: kind for kind in (FUNCTION, CUSTOM, SHELL, APPLY_PATCH, TOOL_SEARCH)}
_BY_ITEM: dict[type[ToolItem], ToolType] = {
    shape: kind for kind in _TYPES.values() for shape in (kind.call, kind.output)
}
SHAPES = ToolShapes(
    tools={name: kind.tool for name, kind in _TYPES.items()},
    items={str(shape.__struct_config__.tag): shape for shape in _BY_ITEM},
    named=frozenset(name for name, kind in _TYPES.items() if issubclass(kind.tool, NamedTool)),
)
_FAILED = frozenset({"incomplete", "failed"})
"""Statuses of outputs of tools that failed."""
_HOW = " A model whose own server searches gets it by `web_search = true`; for other models see docs/codex.md."


class Tools:
    """The functions that a model is offered, which of them it may call, and the tools behind them.

    They keep the order of the request: first those in `tools`, then those in `input`, added or found by a search.
    If the client can search, a tool with `defer_loading` is offered only after a search has found it.
    """

    def __init__(self, request: Request, hosted: tuple[str, ...] = ()) -> None:
        """`hosted` is how the types of tools begin that the model's server runs, or that it does without a tool."""
        self.warnings = Warnings()
        """One for each tool that was left out."""
        self.hosted: list[Tool] = []
        """The tools that the model's server runs, where the client permits it."""
        self._hosted = hosted
        lists = list(_lists(request))
        offers = [member for each, _ in lists for member in each]
        self._names = Names(m.name.name for m in offers if m.name.type == "function" and m.name.namespace is None)
        self._known: dict[str, Carried] = {}
        """Every tool by the name of its function: those on offer, those not found yet, those of past calls."""
        self._tools: set[ToolName] = set()
        """The names of all tools in `_known`."""
        self._can_search = any(isinstance(m.tool, ToolSearchTool) and m.tool.execution == "client" for m in offers)
        offered: dict[str, Carried] = {}
        for each, found in lists:
            self._take(each, offered, found=found)
        self.specs: tuple[FunctionSpec, ...] = tuple([carried.spec for carried in offered.values()])
        self.choice, self._allowed = read_choice(request.choice, list(offered.values()), self._known.values(), hosted)
        if not permits_hosted(request.choice, hosted):
            self.hosted = []

    def allows(self, name: str) -> bool:
        """Whether the client permits this call. An undeclared function is allowed if no restriction is set."""
        return self._allowed is None or name in self._allowed

    def open_call(self, name: str, call_id: str, place: Callable[[str], Position]) -> OpenCall:
        """The open item for a call. `place` gives it a position, by the prefix of its id."""
        carried = self._carried(name)
        return carried.kind.open(carried, call_id, place(carried.kind.prefix))

    def past(self, item: ToolItem) -> PastCall | PastOutput:
        """A past call as a call of its function, or a past output as text or parts."""
        kind = _BY_ITEM[type(item)]
        if isinstance(item, PastOutputItem):
            output = kind.told(item, self._names.of)
            return output._replace(failed=True) if item.status in _FAILED else output
        carried = self._past_tool(item, kind)
        call_id = getattr(item, "call_id", None) or ""
        return PastCall(call_id, carried.spec.name, kind.arguments(item, carried))

    def _carried(self, name: str) -> Carried:
        """The tool of the function with this name. An undeclared function is passed through unchanged."""
        return self._known.get(name) or Carried(ToolName("function", name), FunctionSpec(name=name), FUNCTION)

    def _past_tool(self, item: Any, kind: ToolType) -> Carried:
        """A tool that was called in the past, declared or not. The model may call it again."""
        named = isinstance(item, NamedCall)
        tool = self._meant(ToolName(kind.name, item.name, item.namespace) if named else ToolName(kind.name, kind.name))
        name = self._names.of(tool)
        if name not in self._known:
            self._known[name] = Carried(tool, FunctionSpec(name=name), kind)
            self._tools.add(tool)
        return self._known[name]

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

    def _take(self, members: Sequence[Member], offered: dict[str, Carried], *, found: bool) -> None:
        """Adds the tools of one list to those on offer, by the names of their functions. `found`: by a search."""
        seen: set[ToolName] = set()
        for tool, named, path, about in members:
            kind = _TYPES.get(tool.type)
            if tool.type.startswith(self._hosted):
                self.hosted.append(tool)
            elif kind is None or (spec := kind.function(tool, self._names.of(named))) is None:
                details = f"{path} was left out: its type '{tool.type[:64]}' cannot be offered to this model."
                details += _HOW if tool.type.startswith("web_search") else ""
                self.warnings.append(details)
            elif named in seen and not found:
                message = f"'{path}' cannot be distinguished from another tool: both are named '{named.name}'."
                raise refuse("invalid_value", message, path)
            else:
                seen.add(named)
                self._tools.add(named)
                if about:
                    spec = replace(spec, description="\n\n".join(filter(None, (about, spec.description))))
                carried = self._known[spec.name] = Carried(named, spec, kind, tool)
                later = isinstance(tool, NamedTool) and tool.defer_loading is True
                if spec.name in offered or found or not (later and self._can_search):
                    offered[spec.name] = carried


def _lists(request: Request) -> Iterator[tuple[list[Member], bool]]:
    """Every list of tools, in the order of the request, and whether a search found them."""
    yield members(request.offers, "tools"), False
    for index, item in enumerate(request.items):
        if isinstance(item, AdditionalTools | ToolSearchOutputItem):
            yield members(item.tools, f"{request.path_of(index)}.tools"), isinstance(item, ToolSearchOutputItem)
