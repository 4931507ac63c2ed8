"""Input items about tools. The shapes of calls and outputs stand in the files of their bridges."""

from typing import Literal

from app.protocol.request.shape import Shape
from app.protocol.request.tools import ParsedTools


class ToolItem(Shape):
    """A past call of a tool, or the output of one."""

    type: str
    id: str | None = None
    status: str | None = None


class NamedCallItem(ToolItem):
    """A past call of one of several tools of one type, which differ by their names."""

    call_id: str
    name: str
    namespace: str | None = None


class ToolsItem(Shape):
    """An item that brings tools, which are offered from here on."""

    tools: ParsedTools


class AdditionalToolsItem(ToolsItem):
    """Tools that the client adds. Codex's newer models send all of theirs so, and no `tools`."""

    type: Literal["additional_tools"]
