"""The shell: commands that the client runs, with an event for each."""

from ..emitter.items import OpenCall, Position
from ..types import events as e
from ..types.json import Json, as_object, decode, encode, given
from ..types.request import Shape, Tool, ToolItem, TypedShape
from ..types.response import ItemStatus, OutputItem
from .base import Carried, FunctionSpec, NameOf, PastOutput, PastOutputItem, ToolType
from .calls import OpenAction
from .function import object_of

_DESCRIPTION = "Runs shell commands and returns what they write."
_SKILLS = (
    "Skills are folders on this machine with instructions for one kind of task. Before such a task, read `SKILL.md` in "
    "the folder of its skill:"
)
_LIMITS = ("timeout_ms", "max_output_length")
_PARAMETERS = object_of(
    {
        "commands": {"type": "array", "items": {"type": "string"}, "description": "Shell commands, run in order."},
        "timeout_ms": {"type": "integer", "description": "Milliseconds they may take."},
        "max_output_length": {"type": "integer", "description": "Characters of output to return at most."},
    },
    "commands",
)


class Skill(Shape, kw_only=True):
    """A folder on the client's machine with instructions for one kind of task."""

    name: str
    description: str
    path: str


class LocalEnvironment(TypedShape, tag="local"):
    """The client's machine, and the skills that are there."""

    skills: list[Skill] | None = None


class NewContainer(TypedShape, tag="container_auto"):
    """A new container of OpenAI's."""


class Container(TypedShape, tag="container_reference"):
    """A container of OpenAI's that the client has made."""


class ShellTool(Tool):
    """Runs shell commands, on the client's machine unless `environment` names another place."""

    environment: LocalEnvironment | NewContainer | Container | None = None


class ShellCommands(Shape, kw_only=True):
    """Commands that were run."""

    commands: list[str]
    timeout_ms: float | None = None
    max_output_length: float | None = None


class ShellCallItem(ToolItem, kw_only=True, tag="shell_call"):
    """A past call of `shell`."""

    call_id: str
    action: ShellCommands


class ShellOutcome(Shape, kw_only=True):
    """How a command ended."""

    type: str
    exit_code: int | None = None


class ShellOutput(Shape):
    """The output of one command."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellOutcome | None = None


class ShellCallOutputItem(PastOutputItem, kw_only=True, tag="shell_call_output"):
    """The output of a call, command by command."""

    call_id: str
    output: str | list[ShellOutput]


class ShellCall(OutputItem, tag="shell_call"):
    """Commands for the client's shell."""

    status: ItemStatus
    call_id: str
    action: Json
    """Commands to run, and the limits they run under."""


class CommandEvent(e.ItemEvent):
    """An event about one command of a call. These events have no `item_id`."""

    command_index: int


class CommandAdded(CommandEvent, tag="response.shell_call_command.added"):
    """A command is new."""

    command: str


class CommandDelta(CommandEvent, tag="response.shell_call_command.delta"):
    """More of a command."""

    delta: str


class CommandDone(CommandEvent, tag="response.shell_call_command.done"):
    """The whole command."""

    command: str


def _function(tool: ShellTool, name: str) -> FunctionSpec | None:
    environment = tool.environment or LocalEnvironment()
    if not isinstance(environment, LocalEnvironment):
        return None
    lines = [_DESCRIPTION]
    if environment.skills:
        lines += ["", _SKILLS, *(f"- {skill.name}: {skill.description} ({skill.path})" for skill in environment.skills)]
    return FunctionSpec(name=name, description="\n".join(lines), parameters=_PARAMETERS)


def _arguments(item: ShellCallItem, _: Carried) -> str:
    limits = {key: _limit(getattr(item.action, key)) for key in _LIMITS}
    return encode({"commands": item.action.commands, **given(limits)}).decode()


def _told(item: ShellCallOutputItem, _: NameOf) -> PastOutput:
    """What each command wrote, and how it ended."""
    if isinstance(item.output, str):
        return PastOutput(item.call_id, item.output)
    outcomes = [output.outcome for output in item.output if output.outcome is not None]
    failed = any(outcome.exit_code != 0 for outcome in outcomes)  # it has no exit code if it took too long
    return PastOutput(item.call_id, "\n".join(map(_text, item.output)), failed=failed)


def _text(output: ShellOutput) -> str:
    lines = [output.stdout.rstrip("\n")]
    if output.stderr.strip():
        lines.append("[stderr]\n" + output.stderr.rstrip("\n"))
    if (outcome := output.outcome) is not None:
        lines.append(f"[{outcome.type}]" if outcome.exit_code is None else f"[exit code {outcome.exit_code}]")
    return "\n".join(filter(None, lines))


def _open(_: Carried, call_id: str, position: Position) -> OpenCall:
    def item(status: ItemStatus, arguments: str) -> ShellCall:
        return ShellCall(position.id, status, call_id, _action("" if status == "in_progress" else arguments))

    return OpenAction(position, item, _events)


def _action(arguments: str) -> Json:
    """The commands. Arguments without any are taken as one command: the shell's error shows the model why."""
    read = as_object(decode(arguments))
    commands = read.get("commands", read.get("command"))
    if isinstance(commands, str):
        commands = [commands]
    elif not isinstance(commands, list) or not all(isinstance(command, str) for command in commands):
        commands = [arguments] if arguments.strip() else []
    return {"commands": commands, **{key: _limit(read.get(key)) for key in _LIMITS}}


def _limit(value: object) -> int | None:
    """The value, if it is an integer from 0 on; models write 1000.0, too."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def _events(position: Position, call: ShellCall) -> e.Events:
    events: e.Events = []
    for index, command in enumerate(call.action["commands"]):
        events += [
            kind(position.number(), position.output_index, index, text)
            for kind, text in ((CommandAdded, ""), (CommandDelta, command), (CommandDone, command))
        ]
    return events


SHELL = ToolType("shell", ShellTool, ShellCallItem, ShellCallOutputItem, "sh", _function, _arguments, _told, _open)
