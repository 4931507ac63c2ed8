"""Function tools: carried by themselves. Parameters that are of no object travel as the one property of an object."""

from typing import Any

import msgspec

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.naming import Names, ToolName
from app.bridges.schema import VALUE, for_chat, wraps
from app.emitter.open_items import Closed, ItemPosition, OpenCall, OpenFunctionCall
from app.protocol.events import Event
from app.protocol.output_items import ItemStatus
from app.protocol.request.tool_items import FunctionCallItem, FunctionCallOutputItem
from app.protocol.request.tools import FunctionTool


class FunctionBridge:
    """A function is carried by itself."""

    tool_type = "function"
    call_type = "function_call"
    output_type = "function_call_output"
    item_prefix = "fc"

    def declare(self, tool: FunctionTool, name: str) -> FunctionSpec:
        """The function, as it is."""
        return FunctionSpec(
            name=name, description=tool.description, parameters=for_chat(tool.parameters), strict=tool.strict
        )

    def tool_of(self, item: FunctionCallItem) -> ToolName:
        """The function, within its namespace."""
        return ToolName(self.tool_type, item.name, item.namespace)

    def retell_call(self, item: FunctionCallItem, carrier: Carrier) -> RetoldCall:
        """The call, its arguments untouched."""
        arguments = item.arguments
        if _wraps(carrier) and _is_json(arguments):
            arguments = f'{{"{VALUE}":{arguments}}}'
        return RetoldCall(item.call_id, carrier.spec.name, arguments)

    def retell_output(self, item: FunctionCallOutputItem, names: Names) -> RetoldOutput:  # noqa: ARG002 — names no tool
        """The output, text or parts."""
        return RetoldOutput(item.call_id, item.output)

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:
        """A `function_call` item."""
        call = OpenFunctionCall(position, carrier.tool.name, call_id, carrier.tool.namespace)
        return OpenWrappedCall(call) if _wraps(carrier) else call


class OpenWrappedCall:
    """A call whose arguments are of no object: told when they are out of the one that carried them."""

    def __init__(self, call: OpenFunctionCall) -> None:
        self.position = call.position
        self._call = call
        self._written: list[str] = []

    def open(self) -> list[Event]:
        """Added, with empty arguments."""
        return self._call.open()

    def announce(self) -> list[Event]:
        """Nothing: it was told when it opened."""
        return []

    def add(self, arguments: str) -> list[Event]:
        """More arguments; none of them can be told yet."""
        self._written.append(arguments)
        return []

    def said(self) -> str:
        """All arguments so far, as the model wrote them."""
        return "".join(self._written)

    def empty_delta(self) -> Event:
        """An empty delta."""
        return self._call.empty_delta()

    def close(self, status: ItemStatus) -> Closed:
        """The finished call, with the very characters of its one argument."""
        arguments = _unwrapped(self.said())
        told = self._call.add(arguments) if arguments else []
        closed = self._call.close(status)
        return Closed(closed.item, [*told, *closed.events])


def _wraps(carrier: Carrier) -> bool:
    return isinstance(carrier.definition, FunctionTool) and wraps(carrier.definition.parameters)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unwrapped(arguments: str) -> str:
    """The one argument; whatever is not an object around it is passed on as it is."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return arguments
    return bytes(fields[VALUE]).decode() if VALUE in fields else arguments
