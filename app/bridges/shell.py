"""The shell: commands that the client runs, with an event for each."""

from typing import Any, Final

import msgspec

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.naming import Names, ToolName
from app.bridges.open_action import OpenAction, read_limit, read_object, read_words
from app.emitter.open_items import ItemPosition, OpenCall
from app.protocol import events as e
from app.protocol.output_items import ItemStatus, OutputItem, ShellAction, ShellCall
from app.protocol.request.tool_items import ShellCallItem, ShellCallOutputItem, ShellOutput
from app.protocol.request.tools import ShellTool

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


class ShellBridge:
    """`shell` rides on a function of commands."""

    tool_type = "shell"
    call_type = "shell_call"
    output_type = "shell_call_output"
    item_prefix = "sh"

    def declare(self, tool: ShellTool, name: str) -> FunctionSpec | None:
        """A function shaped like the action; none for a shell in a container of the API's own."""
        if tool.environment is not None and tool.environment.type != "local":
            return None
        return FunctionSpec(
            name=name, description="Runs shell commands and returns what they write.", parameters=_PARAMETERS
        )

    def tool_of(self, item: ShellCallItem) -> ToolName:  # noqa: ARG002 — there is but one
        """The one shell."""
        return ToolName(self.tool_type, self.tool_type)

    def retell_call(self, item: ShellCallItem, carrier: Carrier) -> RetoldCall:
        """The action as arguments."""
        limits = {key: read_limit(getattr(item.action, key)) for key in _LIMITS}
        given = {key: value for key, value in limits.items() if value is not None}
        arguments = msgspec.json.encode({"commands": item.action.commands, **given}).decode()
        return RetoldCall(item.call_id, carrier.spec.name, arguments)

    def retell_output(self, item: ShellCallOutputItem, names: Names) -> RetoldOutput:  # noqa: ARG002 — names no tool
        """What each command wrote and how it ended."""
        if isinstance(item.output, str):
            return RetoldOutput(item.call_id, item.output)
        return RetoldOutput(item.call_id, "\n".join(_in_words(output) for output in item.output))

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:  # noqa: ARG002 — there is but one
        """A `shell_call` item."""

        def tell(status: ItemStatus, arguments: str) -> ShellCall:
            action = ShellAction() if status == "in_progress" else _action(arguments)
            return ShellCall(id=position.id, status=status, call_id=call_id, action=action)

        return OpenShellCall(position, tell)


class OpenShellCall(OpenAction):
    """A shell call: its commands are told one by one, as clients expect them."""

    def _grow(self, item: OutputItem) -> list[e.Event]:
        assert isinstance(item, ShellCall)  # noqa: S101 — our own misuse, never the wire's
        events: list[e.Event] = []
        for index, command in enumerate(item.action.commands):
            events += [
                self.position.item(e.ShellCallCommandAdded, command_index=index, command=""),
                self.position.item(e.ShellCallCommandDelta, command_index=index, delta=command),
                self.position.item(e.ShellCallCommandDone, command_index=index, command=command),
            ]
        return events


def _action(arguments: str) -> ShellAction:
    """What is to be run. Arguments that say nothing of it are the command: the shell's error tells the model why."""
    told = read_object(arguments)
    line = told.get("commands", told.get("command"))
    commands = [line] if isinstance(line, str) else read_words(line)
    if commands is None:
        commands = [arguments] if arguments.strip() else []
    return ShellAction(commands=commands, **{key: read_limit(told.get(key)) for key in _LIMITS})


def _in_words(output: ShellOutput) -> str:
    said = [output.stdout.rstrip("\n")]
    if output.stderr.strip():
        said.append("[stderr]\n" + output.stderr.rstrip("\n"))
    if output.outcome is not None and output.outcome.exit_code is not None:
        said.append(f"[exit code {output.outcome.exit_code}]")
    elif output.outcome is not None:
        said.append(f"[{output.outcome.type}]")
    return "\n".join(part for part in said if part)
