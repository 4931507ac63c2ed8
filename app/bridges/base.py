"""What every bridge offers, and the words bridges and dialects share."""

from typing import Any, NamedTuple, Protocol

import msgspec

from app.bridges.naming import Names, ToolName
from app.emitter.open_items import ItemPosition, OpenCall
from app.protocol.request.tools import Tool


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function as a model is told of it, in no dialect."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Carrier(NamedTuple):
    """A function that carries one of the client's tools, and the bridge that knows how."""

    tool: ToolName
    spec: FunctionSpec
    bridge: "Bridge"
    definition: Tool | None = None
    """The tool as the client offers it; none if it is only known from past calls."""


class RetoldCall(NamedTuple):
    """A past call as a function call: what the model will read of it."""

    call_id: str
    name: str
    arguments: str


class RetoldOutput(NamedTuple):
    """What a past call gave: plain text, or the client's content parts."""

    call_id: str
    content: str | list[Any]


class Bridge(Protocol):
    """One tool type and its items. Pure; bridges do not know each other."""

    tool_type: str
    call_type: str
    output_type: str
    item_prefix: str

    def declare(self, tool: Any, name: str) -> FunctionSpec | None:
        """The function that carries this tool, under this name. None if the tool would run at a server we are not."""
        ...

    def tool_of(self, item: Any) -> ToolName:
        """The tool that a past call of this type was for."""
        ...

    def retell_call(self, item: Any, carrier: Carrier) -> RetoldCall:
        """A past call of this type, as a call of its carrier."""
        ...

    def retell_output(self, item: Any, names: Names) -> RetoldOutput:
        """A past output of this type. What it says of tools, it says by the names of their carriers."""
        ...

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:
        """The item that a call of this carrier becomes."""
        ...
