"""The bridges of all tool types, by the `type` of their tools, calls and outputs."""

from functools import cache
from typing import Final, get_args

from ..protocol.request.shape import Shape
from ..protocol.request.tool_items import ToolItem
from ..protocol.request.tools import NamedTool
from .base import Bridge


class Registry:
    """Every bridge registers itself here, once, when its file is imported."""

    def __init__(self) -> None:
        self.by_tool: dict[str, Bridge] = {}
        self.by_call: dict[str, Bridge] = {}
        self.by_output: dict[str, Bridge] = {}
        self.item_shapes: dict[str, type[ToolItem]] = {}
        """The shape of each type of call and output."""

    def register(self, bridge: Bridge) -> None:
        """Adds a bridge. There may be only one for each type."""
        tool, call, output = (wire_type(shape) for shape in (bridge.tool, bridge.call, bridge.output))
        if tool in self.by_tool or call in self.item_shapes or output in self.item_shapes:
            raise ValueError(f"There is a bridge for '{tool}', '{call}' or '{output}' already.")
        self.by_tool[tool] = self.by_call[call] = self.by_output[output] = bridge
        self.item_shapes |= {call: bridge.call, output: bridge.output}

    def has_names(self, tool_type: str) -> bool:
        """Whether tools of this type differ by their names."""
        bridge = self.by_tool.get(tool_type)
        return bridge is not None and issubclass(bridge.tool, NamedTool)


@cache
def wire_type(shape: type[Shape]) -> str:
    """The one `type` that objects of this shape have on the wire."""
    kind: str
    (kind,) = get_args(shape.model_fields["type"].annotation)
    return kind


BRIDGES: Final = Registry()
