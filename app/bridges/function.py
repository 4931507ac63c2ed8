"""Function tools: the identity bridge."""

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.protocol.request import FunctionCallItem, FunctionCallOutputItem, FunctionTool
from app.turn.open_items import OpenCall, OpenFunctionCall, Place


class FunctionBridge:
    """A function is carried by itself."""

    tool_type = "function"
    call_type = "function_call"
    output_type = "function_call_output"
    item_prefix = "fc"

    def declare(self, tool: FunctionTool, path: str) -> list[Carrier]:  # noqa: ARG002 — other bridges can refuse
        """One function, as it is."""
        spec = FunctionSpec(
            name=tool.name, description=tool.description, parameters=tool.parameters, strict=tool.strict
        )
        return [Carrier(spec, self, tool)]

    def retell_call(self, item: FunctionCallItem) -> RetoldCall:
        """The call, its arguments untouched."""
        return RetoldCall(item.call_id, item.name, item.arguments)

    def retell_output(self, item: FunctionCallOutputItem) -> RetoldOutput:
        """The output, text or parts."""
        return RetoldOutput(item.call_id, item.output)

    def open_call(self, carrier: Carrier, call_id: str, place: Place) -> OpenCall:
        """A `function_call` item."""
        return OpenFunctionCall(place, carrier.spec.name, call_id)
