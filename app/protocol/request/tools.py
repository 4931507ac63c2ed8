"""Tools a client offers. The shapes of tool types that have a bridge are in the files of those bridges."""

from typing import Annotated, Literal

from pydantic import Field, SkipValidation

from .shape import Holds, Shape

ToolNameText = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}\z")]
"""A name that a client may give. What a chat server finds too long is shortened on its way there."""


class Tool(Shape):
    """A tool of any type."""

    type: str


ParsedTools = Annotated[list[Tool], SkipValidation, Holds.TOOLS]
"""Tools as a member: they are validated one by one."""


class NamedTool(Tool):
    """One of several tools of one type, which differ by their names."""

    name: ToolNameText
    description: str | None = None
    defer_loading: bool | None = None


class NamespaceTool(Tool):
    """Several tools under one name; a call of one names both."""

    type: Literal["namespace"]
    name: ToolNameText
    description: str | None = None
    tools: ParsedTools


class OtherTool(Tool):
    """A tool of a type that has no shape of its own, all its keys kept."""

    name: str | None = None
