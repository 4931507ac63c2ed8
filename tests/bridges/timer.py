"""A tool type that no API has, in one file as each real one is: it waits, and says what it waited for."""

from typing import Any, Final, Literal

import msgspec

from app.bridges.action_calls import ActionBridge, read_limit, read_object
from app.bridges.base import BridgedTool, FunctionSpec, PastCall
from app.protocol.output_items import ItemStatus, OutputItem
from app.protocol.request.input_parts import ParsedContent
from app.protocol.request.shape import Shape
from app.protocol.request.tool_items import ToolItem
from app.protocol.request.tools import Tool

PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"seconds": {"type": "integer"}},
    "required": ["seconds"],
}


class TimerTool(Tool):
    """Waits."""

    type: Literal["timer"]
    most_seconds: int = 60


class Wait(Shape):
    """What was waited for."""

    seconds: int


class TimerCallItem(ToolItem):
    """A past call."""

    type: Literal["timer_call"]
    call_id: str
    action: Wait


class TimerCallOutputItem(ToolItem):
    """What the client says of it."""

    type: Literal["timer_call_output"]
    call_id: str
    output: ParsedContent


class WaitAction(msgspec.Struct, frozen=True):
    """What to wait for."""

    seconds: int = 0


class TimerCall(OutputItem, frozen=True, kw_only=True, tag="timer_call"):
    """A call."""

    status: ItemStatus
    call_id: str
    action: WaitAction


class TimerBridge(ActionBridge):
    """A function with a number of seconds carries `timer`."""

    tool = TimerTool
    call = TimerCallItem
    output = TimerCallOutputItem
    item_prefix = "tmr"

    def declare(self, tool: TimerTool, name: str, /) -> FunctionSpec:
        """A function of seconds."""
        return FunctionSpec(name=name, description=f"Waits up to {tool.most_seconds} s.", parameters=PARAMETERS)

    def read_call(self, item: TimerCallItem, bridged: BridgedTool, /) -> PastCall:
        """The action as arguments."""
        arguments = msgspec.json.encode({"seconds": item.action.seconds}).decode()
        return PastCall(item.call_id, bridged.spec.name, arguments)

    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> TimerCall:
        """A `timer_call` item."""
        action = WaitAction(read_limit(read_object(arguments).get("seconds")) or 0)
        return TimerCall(id=item_id, status=status, call_id=call_id, action=action)
