"""Input items about tools: what was called, what it gave, and tools that were found or added on the way."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.protocol.request.input_parts import ParsedContent
from app.protocol.request.shape import Shape
from app.protocol.request.tools import ParsedTools


class ToolItem(Shape):
    """A past call of a tool, or what one gave. Its bridge retells it."""

    type: str
    id: str | None = None
    status: str | None = None


class FunctionCallItem(ToolItem):
    """A past call of a function, its arguments as the model wrote them."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    namespace: str | None = None


class FunctionCallOutputItem(ToolItem):
    """What a past call gave, of whatever tool: Codex answers `local_shell_call` with it."""

    type: Literal["function_call_output"]
    call_id: str
    output: ParsedContent


class CustomToolCallItem(ToolItem):
    """A past call of a custom tool."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    namespace: str | None = None


class CustomToolCallOutputItem(ToolItem):
    """What a custom tool gave."""

    type: Literal["custom_tool_call_output"]
    call_id: str
    output: ParsedContent


class ToolSearchCallItem(ToolItem):
    """A past search for tools. One that the API's own server ran has no call id."""

    type: Literal["tool_search_call"]
    call_id: str | None = None
    arguments: Any = None


class ToolSearchOutputItem(ToolItem):
    """The tools that were found; from here on they are offered."""

    type: Literal["tool_search_output"]
    call_id: str | None = None
    tools: ParsedTools


class ShellWords(Shape):
    """What a local shell is to run."""

    command: Annotated[list[str], Field(fail_fast=True)]
    timeout_ms: float | None = None
    working_directory: str | None = None


class LocalShellCallItem(ToolItem):
    """A past call of the local shell. Old clients give it an id only."""

    type: Literal["local_shell_call"]
    call_id: str | None = None
    action: ShellWords


class LocalShellCallOutputItem(ToolItem):
    """What the local shell gave; `id` is then the call's."""

    type: Literal["local_shell_call_output"]
    call_id: str | None = None
    output: str


class ShellCommands(Shape):
    """What a shell is to run."""

    commands: Annotated[list[str], Field(fail_fast=True)]
    timeout_ms: float | None = None
    max_output_length: float | None = None


class ShellCallItem(ToolItem):
    """A past call of the shell."""

    type: Literal["shell_call"]
    call_id: str
    action: ShellCommands


class ShellOutcome(Shape):
    """How a command ended."""

    type: str
    exit_code: int | None = None


class ShellOutput(Shape):
    """What one command wrote."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellOutcome | None = None


class ShellCallOutputItem(ToolItem):
    """What the shell gave, command by command."""

    type: Literal["shell_call_output"]
    call_id: str
    output: str | Annotated[list[ShellOutput], Field(fail_fast=True)]


class PatchOperation(Shape):
    """What becomes of one file."""

    type: str
    path: str
    diff: str | None = None


class ApplyPatchCallItem(ToolItem):
    """A past change of a file."""

    type: Literal["apply_patch_call"]
    call_id: str
    operation: PatchOperation


class ApplyPatchCallOutputItem(ToolItem):
    """How the change went."""

    type: Literal["apply_patch_call_output"]
    call_id: str
    status: str | None = None
    output: str | None = None


class AdditionalToolsItem(Shape):
    """Tools that are offered from here on. Codex's newer models send all of theirs so, and no `tools`."""

    type: Literal["additional_tools"]
    tools: ParsedTools
