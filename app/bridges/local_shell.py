"""The local shell: one command, word by word, which the client runs."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.naming import Names, ToolName
from app.bridges.open_action import OpenAction, read_limit, read_object, read_words
from app.emitter.open_items import ItemPosition, OpenCall
from app.protocol.output_items import ExecAction, ItemStatus, LocalShellCall
from app.protocol.request.tool_items import LocalShellCallItem, LocalShellCallOutputItem
from app.protocol.request.tools import LocalShellTool

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


class LocalShellBridge:
    """`local_shell` rides on a function of a command. Old Codex answers its calls with `function_call_output`."""

    tool_type = "local_shell"
    call_type = "local_shell_call"
    output_type = "local_shell_call_output"
    item_prefix = "lsh"

    def declare(self, tool: LocalShellTool, name: str) -> FunctionSpec:  # noqa: ARG002 — it has no settings
        """A function shaped like the action."""
        return FunctionSpec(name=name, description="Runs a command and returns what it writes.", parameters=_PARAMETERS)

    def tool_of(self, item: LocalShellCallItem) -> ToolName:  # noqa: ARG002 — there is but one
        """The one local shell."""
        return ToolName(self.tool_type, self.tool_type)

    def retell_call(self, item: LocalShellCallItem, carrier: Carrier) -> RetoldCall:
        """The action as arguments."""
        action = item.action
        limits = {"workdir": action.working_directory, "timeout_ms": read_limit(action.timeout_ms)}
        given = {key: value for key, value in limits.items() if value is not None}
        arguments = msgspec.json.encode({"command": action.command, **given}).decode()
        return RetoldCall(item.call_id or item.id or "", carrier.spec.name, arguments)

    def retell_output(self, item: LocalShellCallOutputItem, names: Names) -> RetoldOutput:  # noqa: ARG002 — names no tool
        """The output. Its `id` is that of the call, where it has no call id."""
        return RetoldOutput(item.call_id or item.id or "", item.output)

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:  # noqa: ARG002 — there is but one
        """A `local_shell_call` item."""

        def tell(status: ItemStatus, arguments: str) -> LocalShellCall:
            action = ExecAction() if status == "in_progress" else _action(arguments)
            return LocalShellCall(id=position.id, status=status, call_id=call_id, action=action)

        return OpenAction(position, tell)


def _action(arguments: str) -> ExecAction:
    """What is to be run. Arguments that say nothing of it are the command: the client's error tells the model why."""
    told = read_object(arguments)
    line = told.get("command")
    command = read_words(line)
    if isinstance(line, str):
        command = ["bash", "-lc", line]
    elif command is None:
        command = [arguments] if arguments.strip() else []
    workdir, limit = told.get("workdir"), read_limit(told.get("timeout_ms"))
    return ExecAction(
        command=command,
        working_directory=workdir if isinstance(workdir, str) and workdir else UNSET,
        timeout_ms=UNSET if limit is None else limit,
    )
