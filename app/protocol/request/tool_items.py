"""Input items about tools. The shapes of calls and outputs are in the files of their bridges."""

from typing import Literal

from .shape import Shape
from .tools import ParsedTools


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
    """An item with tools, which are offered from this point on."""

    tools: ParsedTools


class AdditionalToolsItem(ToolsItem):
    """Tools that the client adds. With newer models, Codex sends all its tools this way, and no `tools`."""

    type: Literal["additional_tools"]
