"""The local shell: one command, word by word, which the client runs."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import Field

from ...protocol.output_items import ItemStatus, OutputItem
from ...protocol.request.shape import Shape
from ...protocol.request.tool_items import ToolItem
from ...protocol.request.tools import Tool
from ..action_calls import ActionBridge, read_limit, read_object, read_strings
from ..base import BridgedTool, FunctionSpec, PastCall, PastOutput
from ..naming import Names
from ..registry import BRIDGES

_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {
            "type": "array",
            "items": {"type": "string"},
            "description": 'The program and its arguments, for instance ["bash", "-lc", "ls | wc -l"].',
        },
        "workdir": {"type": "string", "description": "The directory to run it in."},
        "timeout_ms": {"type": "integer", "description": "Milliseconds it may take."},
    },
    "required": ["command"],
    "additionalProperties": False,
}


class LocalShellTool(Tool):
    """Runs one command, given as a list of words."""

    type: Literal["local_shell"]


class ShellWords(Shape):
    """A command that was run."""

    command: Annotated[list[str], Field(fail_fast=True)]
    timeout_ms: float | None = None
    working_directory: str | None = None
    env: dict[str, str] | None = None
    user: str | None = None


class LocalShellCallItem(ToolItem):
    """A past call of `local_shell`. Old clients give it an id only."""

    type: Literal["local_shell_call"]
    call_id: str | None = None
    action: ShellWords


class LocalShellCallOutputItem(ToolItem):
    """The output of a command; `id` may be the call's."""

    type: Literal["local_shell_call_output"]
    call_id: str | None = None
    output: str


class ExecAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="exec"):
    """A command to run. Clients with strict types take an absent limit, but no null."""

    command: list[str] = []
    env: dict[str, str] = {}
    timeout_ms: int | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET


class LocalShellCall(OutputItem, frozen=True, kw_only=True, tag="local_shell_call"):
    """A command for the client's shell."""

    status: ItemStatus
    call_id: str
    action: ExecAction = ExecAction()


class LocalShellBridge(ActionBridge):
    """A function with a command carries `local_shell`. Old Codex sends `function_call_output` for its calls."""

    tool = LocalShellTool
    call = LocalShellCallItem
    output = LocalShellCallOutputItem
    item_prefix = "lsh"

    def declare(self, _tool: LocalShellTool, name: str, /) -> FunctionSpec:
        """A function shaped like the action."""
        return FunctionSpec(name=name, description="Runs a command and returns what it writes.", parameters=_PARAMETERS)

    def read_call(self, item: LocalShellCallItem, bridged: BridgedTool, /) -> PastCall:
        """The action as arguments."""
        action = item.action
        limits = {"workdir": action.working_directory, "timeout_ms": read_limit(action.timeout_ms)}
        set_limits = {key: value for key, value in limits.items() if value is not None}
        others = {key: value for key, value in {"env": action.env, "user": action.user}.items() if value}
        arguments = msgspec.json.encode({"command": action.command, **set_limits, **others}).decode()
        return PastCall(item.call_id or item.id or "", bridged.spec.name, arguments)

    def read_output(self, item: LocalShellCallOutputItem, _names: Names, /) -> PastOutput:
        """The output. Without a `call_id`, its `id` is that of the call."""
        return PastOutput(item.call_id or item.id or "", item.output)

    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> LocalShellCall:
        """A `local_shell_call` item."""
        action = ExecAction() if status == "in_progress" else _action(arguments)
        return LocalShellCall(id=item_id, status=status, call_id=call_id, action=action)


BRIDGES.register(LocalShellBridge())


def _action(arguments: str) -> ExecAction:
    """The command. Arguments without one are taken as the command: the client's error shows the model why."""
    read = read_object(arguments)
    line = read.get("command")
    command = read_strings(line)
    if isinstance(line, str):
        command = ["bash", "-lc", line]
    elif command is None:
        command = [arguments] if arguments.strip() else []
    workdir, limit = read.get("workdir"), read_limit(read.get("timeout_ms"))
    return ExecAction(
        command=command,
        working_directory=workdir if isinstance(workdir, str) and workdir else UNSET,
        timeout_ms=UNSET if limit is None else limit,
    )
