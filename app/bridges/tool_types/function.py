"""Function tools: carried by themselves. Parameters that are of no object travel as the one property of an object."""

from typing import Any, Literal

import msgspec

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.naming import Names
from app.bridges.registry import BRIDGES
from app.bridges.schema import VALUE, for_chat, wraps
from app.emitter.open_items import Closed, ItemPosition, OpenCall, OpenFunctionCall
from app.protocol.events import Event
from app.protocol.output_items import ItemStatus
from app.protocol.request.input_parts import ParsedContent
from app.protocol.request.tool_items import NamedCallItem, ToolItem
from app.protocol.request.tools import NamedTool


class FunctionTool(NamedTool):
    """A function the client runs itself."""

    type: Literal["function"]
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionCallItem(NamedCallItem):
    """A past call of a function, its arguments as the model wrote them."""

    type: Literal["function_call"]
    arguments: str


class FunctionCallOutputItem(ToolItem):
    """The output of a past call, of whatever tool: Codex answers `local_shell_call` with it."""

    type: Literal["function_call_output"]
    call_id: str
    output: ParsedContent


class FunctionBridge:
    """A function is carried by itself."""

    tool = FunctionTool
    call = FunctionCallItem
    output = FunctionCallOutputItem
    item_prefix = "fc"

    def declare(self, tool: FunctionTool, name: str, /) -> FunctionSpec:
        """The function, as it is."""
        return FunctionSpec(
            name=name, description=tool.description, parameters=for_chat(tool.parameters), strict=tool.strict
        )

    def retell_call(self, item: FunctionCallItem, carrier: Carrier, /) -> RetoldCall:
        """The call, its arguments untouched."""
        arguments = item.arguments
        if _wraps(carrier) and _is_json(arguments):
            arguments = f'{{"{VALUE}":{arguments}}}'
        return RetoldCall(item.call_id, carrier.spec.name, arguments)

    def retell_output(self, item: FunctionCallOutputItem, _names: Names, /) -> RetoldOutput:
        """The output, text or parts."""
        return RetoldOutput(item.call_id, item.output)

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition, /) -> OpenCall:
        """A `function_call` item."""
        call = OpenFunctionCall(position, carrier.tool.name, call_id, carrier.tool.namespace)
        return OpenWrappedCall(call) if _wraps(carrier) else call


FUNCTION = FunctionBridge()
BRIDGES.register(FUNCTION)


class OpenWrappedCall:
    """A call whose arguments are of no object: they are taken out of the object that carried them when it is whole."""

    def __init__(self, call: OpenFunctionCall) -> None:
        self.position = call.position
        self._call = call
        self._written: list[str] = []

    def open(self) -> list[Event]:
        """Added, with empty arguments."""
        return self._call.open()

    def announce(self) -> list[Event]:
        """Nothing: it was announced when it opened."""
        return []

    def add(self, arguments: str) -> list[Event]:
        """More arguments; none of them can be passed on yet."""
        self._written.append(arguments)
        return []

    def written(self) -> str:
        """All arguments so far, as the model wrote them."""
        return "".join(self._written)

    def empty_delta(self) -> Event:
        """An empty delta."""
        return self._call.empty_delta()

    def close(self, status: ItemStatus) -> Closed:
        """The finished call, with the very characters of its one argument."""
        arguments = _unwrapped(self.written())
        added = self._call.add(arguments) if arguments else []
        closed = self._call.close(status)
        return Closed(closed.item, [*added, *closed.events])


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
