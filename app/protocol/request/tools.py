"""Tools a client offers."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, SkipValidation

from app.protocol.request.shape import Holds, OneOf, Shape

ToolNameText = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}\z")]
"""A name that a client may give. What a chat server finds too long is shortened on its way there."""


class FunctionTool(Shape):
    """A function the client runs itself."""

    type: Literal["function"]
    name: ToolNameText
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None


class PlainInput(Shape):
    """Any text may be the input of a custom tool."""

    type: Literal["text"]


class GrammarInput(Shape):
    """The input of a custom tool must obey this grammar."""

    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str


class CustomTool(Shape):
    """A tool whose input is one text, in no JSON."""

    type: Literal["custom"]
    name: ToolNameText
    description: str | None = None
    format: Annotated[
        PlainInput | GrammarInput | None, SkipValidation, OneOf({"text": PlainInput, "grammar": GrammarInput})
    ] = None
    defer_loading: bool | None = None


class NamespaceTool(Shape):
    """Several tools under one roof; a call of one names both."""

    type: Literal["namespace"]
    name: ToolNameText
    description: str | None = None
    tools: Annotated[list["Tool"], SkipValidation, Holds.TOOLS]


class ToolSearchTool(Shape):
    """Finds tools that were not offered at once. Without `execution: client` the API's own server would search."""

    type: Literal["tool_search"]
    execution: Literal["client", "server"] | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class LocalShellTool(Shape):
    """Runs one command, given as a list of words."""

    type: Literal["local_shell"]


class Environment(Shape):
    """Where a shell runs."""

    type: str


class ShellTool(Shape):
    """Runs shell commands, at the client's unless `environment` says otherwise."""

    type: Literal["shell"]
    environment: Environment | None = None


class ApplyPatchTool(Shape):
    """Creates, changes and deletes files."""

    type: Literal["apply_patch"]


class OtherTool(Shape):
    """A tool of any other type, all its keys kept."""

    type: str
    name: str | None = None


Tool = (
    FunctionTool | CustomTool | NamespaceTool | ToolSearchTool | LocalShellTool | ShellTool | ApplyPatchTool | OtherTool
)
ParsedTools = Annotated[list[Tool], SkipValidation, Holds.TOOLS]
"""Tools as a member: they are validated one by one."""

TOOLS: Final[dict[str, type[Tool]]] = {
    "function": FunctionTool,
    "custom": CustomTool,
    "namespace": NamespaceTool,
    "tool_search": ToolSearchTool,
    "local_shell": LocalShellTool,
    "shell": ShellTool,
    "apply_patch": ApplyPatchTool,
}
