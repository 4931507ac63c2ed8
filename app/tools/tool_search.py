"""The search for tools that were not offered at once, which the client runs."""

from typing import Any, Literal

from ..emitter.items import OpenCall, Position
from ..types.json import Json, as_object, decode, encode
from ..types.request import Tool, ToolItem
from ..types.response import ItemStatus, OutputItem
from .base import Carried, FunctionSpec, NameOf, PastOutput, PastOutputItem, ToolType
from .calls import OpenAction
from .function import for_chat, object_of
from .naming import members

_DESCRIPTION = "Searches for tools that can be used. Those it finds can be called from then on."
_PARAMETERS = object_of(
    {
        "query": {"type": "string", "description": "What the tool is to do."},
        "limit": {"type": "integer", "description": "How many tools to find at most."},
    },
    "query",
)


class ToolSearchTool(Tool):
    """Finds tools that were not offered at once. Without `execution: client`, OpenAI's servers would search."""

    execution: Literal["client", "server"] | None = None
    description: str | None = None
    parameters: Json | None = None


class ToolSearchCallItem(ToolItem, tag="tool_search_call"):
    """A past search. One that OpenAI's servers ran has no call id."""

    call_id: str | None = None
    arguments: Any = None


class ToolSearchOutputItem(PastOutputItem, kw_only=True, tag="tool_search_output"):
    """The tools that were found."""

    call_id: str | None = None
    tools: Any
    """Each a `Tool`."""


class ToolSearchCall(OutputItem, tag="tool_search_call"):
    """A search for the client to run."""

    status: ItemStatus
    call_id: str
    arguments: Json
    execution: Literal["client"] = "client"


def _function(tool: ToolSearchTool, name: str) -> FunctionSpec | None:
    if tool.execution != "client":
        return None
    parameters = for_chat(tool.parameters) or _PARAMETERS
    return FunctionSpec(name=name, description=tool.description or _DESCRIPTION, parameters=parameters)


def _arguments(item: ToolSearchCallItem, _: Carried) -> str:
    asked = item.arguments or {}
    if not isinstance(asked, dict):
        asked = _query(asked if isinstance(asked, str) else encode(asked).decode())
    return encode(asked).decode()


def _told(item: ToolSearchOutputItem, name_of: NameOf) -> PastOutput:
    """The tools that were found, by the names under which the model may call them."""
    names = ", ".join([name_of(member.name) for member in members(item.tools)])
    text = f"Found tools, which can be called now: {names}" if names else "No tool was found."
    return PastOutput(item.call_id or "", text)


def _open(_: Carried, call_id: str, position: Position) -> OpenCall:
    def item(status: ItemStatus, arguments: str) -> ToolSearchCall:
        query = {} if status == "in_progress" else _query(arguments)
        return ToolSearchCall(position.id, status, call_id, query)

    return OpenAction(position, item)


def _query(arguments: str) -> Json:
    """The query. Arguments that are no object are taken as the text to search for."""
    read = as_object(decode(arguments))
    return read if read or arguments.strip() in {"", "{}"} else {"query": arguments}


TOOL_SEARCH = ToolType(
    "tool_search", ToolSearchTool, ToolSearchCallItem, ToolSearchOutputItem, "tsc", _function, _arguments, _told, _open
)
