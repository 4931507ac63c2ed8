"""The shell: commands that the client runs, with an event for each."""

from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import Field, SkipValidation

from ...protocol import events as e
from ...protocol.output_items import ItemStatus, OutputItem
from ...protocol.request.shape import OneOf, Shape
from ...protocol.request.tool_items import ToolItem
from ...protocol.request.tools import Tool
from ..action_calls import ActionBridge, OpenAction, read_limit, read_object, read_strings
from ..base import BridgedTool, FunctionSpec, PastCall, PastOutput
from ..naming import Names
from ..registry import BRIDGES

_DESCRIPTION: Final = "Runs shell commands and returns what they write."
_SKILLS: Final = (
    "Skills are folders on this machine with instructions for one kind of task. Before such a task, read `SKILL.md` in "
    "the folder of its skill:"
)
_LIMITS: Final = ("timeout_ms", "max_output_length")
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "commands": {"type": "array", "items": {"type": "string"}, "description": "Shell commands, run in order."},
        "timeout_ms": {"type": "integer", "description": "Milliseconds they may take."},
        "max_output_length": {"type": "integer", "description": "Characters of output to return at most."},
    },
    "required": ["commands"],
    "additionalProperties": False,
}


class Skill(Shape):
    """A folder on the client's machine with instructions for one kind of task."""

    name: str
    description: str
    path: str


class LocalEnvironment(Shape):
    """A shell on the client's machine, and the skills that are there."""

    type: Literal["local"]
    skills: list[Skill] | None = None


class Environment(Shape):
    """Another place where a shell runs, such as one of OpenAI's containers."""

    type: str


class ShellTool(Tool):
    """Runs shell commands, on the client's machine unless `environment` names another place."""

    type: Literal["shell"]
    environment: Annotated[
        LocalEnvironment | Environment | None, SkipValidation, OneOf({"local": LocalEnvironment}, Environment)
    ] = None


class ShellCommands(Shape):
    """Commands that were run."""

    commands: Annotated[list[str], Field(fail_fast=True)]
    timeout_ms: float | None = None
    max_output_length: float | None = None


class ShellCallItem(ToolItem):
    """A past call of `shell`."""

    type: Literal["shell_call"]
    call_id: str
    action: ShellCommands


class ShellOutcome(Shape):
    """How a command ended."""

    type: str
    exit_code: int | None = None


class ShellOutput(Shape):
    """The output of one command."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellOutcome | None = None


class ShellCallOutputItem(ToolItem):
    """The output of a call, command by command."""

    type: Literal["shell_call_output"]
    call_id: str
    output: str | Annotated[list[ShellOutput], Field(fail_fast=True)]


class ShellAction(msgspec.Struct, frozen=True, kw_only=True):
    """Commands to run, and the limits they run under."""

    commands: list[str] = []
    timeout_ms: int | None = None
    max_output_length: int | None = None


class ShellCall(OutputItem, frozen=True, kw_only=True, tag="shell_call"):
    """Commands for the client's shell."""

    status: ItemStatus
    call_id: str
    action: ShellAction = ShellAction()


class OpenShellCall(OpenAction):
    """A shell call: an event for each command, as clients expect them."""

    def _grow(self, item: OutputItem, /) -> list[e.Event]:
        assert isinstance(item, ShellCall)  # noqa: S101 — a fault of this program, never of a request
        events: list[e.Event] = []
        for index, command in enumerate(item.action.commands):
            events += [
                self.position.item(e.ShellCallCommandAdded, command_index=index, command=""),
                self.position.item(e.ShellCallCommandDelta, command_index=index, delta=command),
                self.position.item(e.ShellCallCommandDone, command_index=index, command=command),
            ]
        return events


class ShellBridge(ActionBridge):
    """A function with a list of commands carries `shell`."""

    tool = ShellTool
    call = ShellCallItem
    output = ShellCallOutputItem
    item_prefix = "sh"
    open_item = OpenShellCall

    def declare(self, tool: ShellTool, name: str, /) -> FunctionSpec | None:
        """A function shaped like the action; None for a shell in one of OpenAI's containers."""
        description = _DESCRIPTION
        match tool.environment:
            case Environment():
                return None
            case LocalEnvironment(skills=list(skills)) if skills:
                lines = [f"- {skill.name}: {skill.description} ({skill.path})" for skill in skills]
                description = "\n".join([f"{_DESCRIPTION}\n\n{_SKILLS}", *lines])
        return FunctionSpec(name=name, description=description, parameters=_PARAMETERS)

    def read_call(self, item: ShellCallItem, bridged: BridgedTool, /) -> PastCall:
        """The action as arguments."""
        limits = {key: read_limit(getattr(item.action, key)) for key in _LIMITS}
        set_limits = {key: value for key, value in limits.items() if value is not None}
        arguments = msgspec.json.encode({"commands": item.action.commands, **set_limits}).decode()
        return PastCall(item.call_id, bridged.spec.name, arguments)

    def read_output(self, item: ShellCallOutputItem, _names: Names, /) -> PastOutput:
        """What each command wrote and how it ended."""
        if isinstance(item.output, str):
            return PastOutput(item.call_id, item.output)
        outcomes = [output.outcome for output in item.output if output.outcome is not None]
        failed = any(outcome.exit_code != 0 for outcome in outcomes)  # it has no exit code if it took too long
        return PastOutput(item.call_id, "\n".join(_as_text(output) for output in item.output), failed)

    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> ShellCall:
        """A `shell_call` item."""
        action = ShellAction() if status == "in_progress" else _action(arguments)
        return ShellCall(id=item_id, status=status, call_id=call_id, action=action)


BRIDGES.register(ShellBridge())


def _action(arguments: str) -> ShellAction:
    """The commands. Arguments without any are taken as one command: the shell's error shows the model why."""
    read = read_object(arguments)
    line = read.get("commands", read.get("command"))
    commands = [line] if isinstance(line, str) else read_strings(line)
    if commands is None:
        commands = [arguments] if arguments.strip() else []
    return ShellAction(commands=commands, **{key: read_limit(read.get(key)) for key in _LIMITS})


def _as_text(output: ShellOutput) -> str:
    lines = [output.stdout.rstrip("\n")]
    if output.stderr.strip():
        lines.append("[stderr]\n" + output.stderr.rstrip("\n"))
    if output.outcome is not None and output.outcome.exit_code is not None:
        lines.append(f"[exit code {output.outcome.exit_code}]")
    elif output.outcome is not None:
        lines.append(f"[{output.outcome.type}]")
    return "\n".join(line for line in lines if line)
