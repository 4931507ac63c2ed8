"""The search for tools that were not offered at once, which the client runs."""

from typing import Any, Final, Literal

import msgspec

from ...protocol.output_items import ItemStatus, OutputItem
from ...protocol.request.tool_items import ToolItem, ToolsItem
from ...protocol.request.tools import Tool
from ..action_calls import ActionBridge, read_object
from ..base import BridgedTool, FunctionSpec, PastCall, PastOutput
from ..namespace_members import members
from ..naming import Names
from ..registry import BRIDGES
from ..schema import for_chat

_DESCRIPTION: Final = "Searches for tools that can be used. Those it finds can be called from then on."
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What the tool is to do."},
        "limit": {"type": "integer", "description": "How many tools to find at most."},
    },
    "required": ["query"],
    "additionalProperties": False,
}


class ToolSearchTool(Tool):
    """Finds tools that were not offered at once. Without `execution: client`, OpenAI's servers would search."""

    type: Literal["tool_search"]
    execution: Literal["client", "server"] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ToolSearchCallItem(ToolItem):
    """A past search. One that OpenAI's servers ran has no call id."""

    type: Literal["tool_search_call"]
    call_id: str | None = None
    arguments: Any = None


class ToolSearchOutputItem(ToolItem, ToolsItem):
    """The tools that were found."""

    type: Literal["tool_search_output"]
    call_id: str | None = None


class ToolSearchCall(OutputItem, frozen=True, kw_only=True, tag="tool_search_call"):
    """A search for the client to run."""

    status: ItemStatus
    call_id: str
    execution: Literal["client"] = "client"
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class ToolSearchBridge(ActionBridge):
    """A function with a query carries `tool_search`. The item of its output holds the tools that were found."""

    tool = ToolSearchTool
    call = ToolSearchCallItem
    output = ToolSearchOutputItem
    item_prefix = "tsc"

    def declare(self, tool: ToolSearchTool, name: str, /) -> FunctionSpec | None:
        """A function with a query; None where OpenAI's servers would search."""
        if tool.execution != "client":
            return None
        parameters = for_chat(tool.parameters) or _PARAMETERS
        return FunctionSpec(name=name, description=tool.description or _DESCRIPTION, parameters=parameters)

    def read_call(self, item: ToolSearchCallItem, bridged: BridgedTool, /) -> PastCall:
        """The query as arguments."""
        query = item.arguments
        if not isinstance(query, dict):
            written = query if isinstance(query, str) else msgspec.json.encode(query).decode()
            query = {} if query is None else _query(written)
        return PastCall(item.call_id or "", bridged.spec.name, msgspec.json.encode(query).decode())

    def read_output(self, item: ToolSearchOutputItem, names: Names, /) -> PastOutput:
        """The tools that were found, by the names under which the model may call them."""
        tools = [names.of(member.name) for tool in item.tools for member in members(tool, "")]
        text = f"Found tools, which can be called now: {', '.join(tools)}" if tools else "No tool was found."
        return PastOutput(item.call_id or "", text)

    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> ToolSearchCall:
        """A `tool_search_call` item."""
        query = {} if status == "in_progress" else _query(arguments)
        return ToolSearchCall(id=item_id, status=status, call_id=call_id, arguments=query)


BRIDGES.register(ToolSearchBridge())


def _query(arguments: str) -> dict[str, Any]:
    """The query. Arguments that are no object are taken as the text to search for."""
    read = read_object(arguments)
    return read if read or arguments.strip() in {"", "{}"} else {"query": arguments}
