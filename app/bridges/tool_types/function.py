"""Function tools, sent as they are. Parameters that do not describe an object become the one property of an object."""

from typing import Any, Literal

import msgspec

from ...emitter.open_items import Closed, ItemPosition, OpenCall, OpenFunctionCall
from ...protocol.events import Event
from ...protocol.output_items import ItemStatus
from ...protocol.request.input_parts import ParsedContent
from ...protocol.request.tool_items import NamedCallItem, ToolItem
from ...protocol.request.tools import NamedTool
from ..base import Bridge, BridgedTool, FunctionSpec, PastCall, PastOutput
from ..ciphertext import holds_ciphertext, without_ciphertext
from ..naming import Names, ToolName
from ..registry import BRIDGES
from ..schema import VALUE, encrypts, for_chat, wraps


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
    """The output of a past call, of any tool: Codex also sends it for a `local_shell_call`.

    Of a call that was not waited for, the output may name only the tool.
    """

    type: Literal["function_call_output"]
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    output: ParsedContent


class FunctionBridge(Bridge):
    """A function tool is sent upstream as the function that it is."""

    tool = FunctionTool
    call = FunctionCallItem
    output = FunctionCallOutputItem
    item_prefix = "fc"

    def declare(self, tool: FunctionTool, name: str, /) -> FunctionSpec:
        """The same function."""
        return FunctionSpec(
            name=name, description=tool.description, parameters=for_chat(tool.parameters), strict=tool.strict
        )

    def read_call(self, item: FunctionCallItem, bridged: BridgedTool, /) -> PastCall:
        """The call, with unchanged arguments, but for what only another server can read.

        Where the tool is offered, it says whether there may be such text. It is not offered where a summary is asked
        for, for example.
        """
        arguments, offered = item.arguments, bridged.definition
        if holds_ciphertext(arguments) and (
            offered is None or (isinstance(offered, FunctionTool) and encrypts(offered.parameters))
        ):
            arguments = without_ciphertext(arguments)
        if arguments != item.arguments:
            return PastCall(item.call_id, bridged.spec.name, arguments, encrypted=True)
        if _wraps(bridged) and _is_json(arguments):
            arguments = f'{{"{VALUE}":{arguments}}}'
        return PastCall(item.call_id, bridged.spec.name, arguments)

    def is_plain(self, bridged: BridgedTool, /) -> bool:
        """Whether it has the client's name, and its arguments are an object there too."""
        return bridged.tool == ToolName("function", bridged.spec.name) and not _wraps(bridged)

    def read_output(self, item: FunctionCallOutputItem, names: Names, /) -> PastOutput:
        """The output, with the name of its function if no call is named."""
        tool = ""
        if item.call_id is None and item.name:
            tool = names.of(ToolName("function", item.name, item.namespace))
        return PastOutput(item.call_id, item.output, tool=tool)

    def open_call(self, bridged: BridgedTool, call_id: str, position: ItemPosition, /) -> OpenCall:
        """A `function_call` item."""
        call = OpenFunctionCall(position, bridged.tool.name, call_id, bridged.tool.namespace)
        return OpenWrappedCall(call) if _wraps(bridged) else call


FUNCTION = FunctionBridge()
BRIDGES.register(FUNCTION)


class OpenWrappedCall(OpenCall):
    """A call whose arguments are no object: they are taken out of the object around them when it is complete."""

    def __init__(self, call: OpenFunctionCall) -> None:
        super().__init__(call.position)
        self._call = call

    def open(self) -> list[Event]:
        """The item is added, with empty arguments."""
        return self._call.open()

    def empty_delta(self) -> Event:
        """An empty delta."""
        return self._call.empty_delta()

    def close(self, status: ItemStatus) -> Closed:
        """The finished call, with its one argument as the model wrote it."""
        arguments = _unwrapped(self.written())
        added = self._call.add(arguments) if arguments else []
        closed = self._call.close(status)
        return Closed(closed.item, [*added, *closed.events])


def _wraps(bridged: BridgedTool) -> bool:
    return isinstance(bridged.definition, FunctionTool) and wraps(bridged.definition.parameters)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unwrapped(arguments: str) -> str:
    """The one argument. Text that is not an object with it is returned unchanged."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return arguments
    return bytes(fields[VALUE]).decode() if VALUE in fields else arguments
