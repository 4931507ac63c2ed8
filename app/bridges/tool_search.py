"""The search for tools that were not offered at once, which the client runs."""

from typing import Any, Final

import msgspec

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.namespace import members
from app.bridges.naming import Names, ToolName
from app.bridges.open_action import OpenAction, read_object
from app.bridges.schema import for_chat
from app.emitter.open_items import ItemPosition, OpenCall
from app.protocol.output_items import ItemStatus, ToolSearchCall
from app.protocol.request.tool_items import ToolSearchCallItem, ToolSearchOutputItem
from app.protocol.request.tools import ToolSearchTool

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


class ToolSearchBridge:
    """`tool_search` rides on a function of a query. What it finds comes back in the item of its output."""

    tool_type = "tool_search"
    call_type = "tool_search_call"
    output_type = "tool_search_output"
    item_prefix = "tsc"

    def declare(self, tool: ToolSearchTool, name: str) -> FunctionSpec | None:
        """A function of a query; none where the API's own server would search."""
        if tool.execution != "client":
            return None
        parameters = for_chat(tool.parameters) or _PARAMETERS
        return FunctionSpec(name=name, description=tool.description or _DESCRIPTION, parameters=parameters)

    def tool_of(self, item: ToolSearchCallItem) -> ToolName:  # noqa: ARG002 — there is but one
        """The one search."""
        return ToolName(self.tool_type, self.tool_type)

    def retell_call(self, item: ToolSearchCallItem, carrier: Carrier) -> RetoldCall:
        """The query as arguments."""
        told = item.arguments
        if not isinstance(told, dict):
            told = {} if told is None else _query(told if isinstance(told, str) else msgspec.json.encode(told).decode())
        return RetoldCall(item.call_id or "", carrier.spec.name, msgspec.json.encode(told).decode())

    def retell_output(self, item: ToolSearchOutputItem, names: Names) -> RetoldOutput:
        """The tools that were found, by the names under which the model may call them."""
        found = [names.of(member.name) for tool in item.tools for member in members(tool, "")]
        said = f"Found tools, which can be called now: {', '.join(found)}" if found else "No tool was found."
        return RetoldOutput(item.call_id or "", said)

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:  # noqa: ARG002 — there is but one
        """A `tool_search_call` item for the client."""

        def tell(status: ItemStatus, arguments: str) -> ToolSearchCall:
            query = {} if status == "in_progress" else _query(arguments)
            return ToolSearchCall(id=position.id, status=status, call_id=call_id, arguments=query)

        return OpenAction(position, tell)


def _query(arguments: str) -> dict[str, Any]:
    """What to look for. Arguments that are no object are the query."""
    told = read_object(arguments)
    return told if told or arguments.strip() in {"", "{}"} else {"query": arguments}
