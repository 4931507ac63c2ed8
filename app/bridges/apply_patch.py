"""Changes of files: create, update, delete. One operation per call."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.naming import Names, ToolName
from app.bridges.open_action import OpenAction, read_object
from app.emitter.open_items import ItemPosition, OpenCall
from app.protocol.output_items import ApplyPatchCall, FileOperation, ItemStatus
from app.protocol.request.tool_items import ApplyPatchCallItem, ApplyPatchCallOutputItem
from app.protocol.request.tools import ApplyPatchTool

_DESCRIPTION: Final = (
    "Creates, updates or deletes one file. For `create_file`, `diff` is the new file, each line behind a `+`. "
    "For `update_file`, `diff` is one or more hunks: a line `@@` (or `@@ ` and a line of the file to find the place, "
    "such as a function's head), then lines behind a space (kept), a `-` (removed) or a `+` (added), with three kept "
    "lines around each change."
)
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
        "path": {"type": "string", "description": "The file, relative to the root of the workspace."},
        "diff": {"type": "string", "description": "What changes; left out for `delete_file`."},
    },
    "required": ["type", "path"],
    "additionalProperties": False,
}


class ApplyPatchBridge:
    """The typed `apply_patch` rides on a function shaped like its operation. Codex's is a custom tool instead."""

    tool_type = "apply_patch"
    call_type = "apply_patch_call"
    output_type = "apply_patch_call_output"
    item_prefix = "apc"

    def declare(self, tool: ApplyPatchTool, name: str) -> FunctionSpec:  # noqa: ARG002 — it has no settings
        """A function shaped like the operation."""
        return FunctionSpec(name=name, description=_DESCRIPTION, parameters=_PARAMETERS)

    def tool_of(self, item: ApplyPatchCallItem) -> ToolName:  # noqa: ARG002 — there is but one
        """The one tool of this type."""
        return ToolName(self.tool_type, self.tool_type)

    def retell_call(self, item: ApplyPatchCallItem, carrier: Carrier) -> RetoldCall:
        """The operation as arguments."""
        operation = item.operation
        told = {"type": operation.type, "path": operation.path, "diff": operation.diff}
        given = {key: value for key, value in told.items() if value is not None}
        return RetoldCall(item.call_id, carrier.spec.name, msgspec.json.encode(given).decode())

    def retell_output(self, item: ApplyPatchCallOutputItem, names: Names) -> RetoldOutput:  # noqa: ARG002 — names no tool
        """How it went, and what the client says of it."""
        said = [f"[{item.status}]" if item.status else "", item.output or ""]
        return RetoldOutput(item.call_id, "\n".join(part for part in said if part))

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:  # noqa: ARG002 — there is but one
        """An `apply_patch_call` item."""

        def tell(status: ItemStatus, arguments: str) -> ApplyPatchCall:
            operation = _operation(arguments)
            if status != "in_progress":
                return ApplyPatchCall(id=position.id, status="completed", call_id=call_id, operation=operation)
            if operation.diff is not UNSET:  # clients read type and path here, and the diff when it is done
                operation = msgspec.structs.replace(operation, diff="")
            return ApplyPatchCall(id=position.id, status="in_progress", call_id=call_id, operation=operation)

        return OpenAction(position, tell)


def _operation(arguments: str) -> FileOperation:
    """What is to be done. Arguments that are no operation are its diff: the client's error tells the model why."""
    told = read_object(arguments)
    inner = told.get("operation")
    try:
        operation = msgspec.convert(inner if isinstance(inner, dict) else told, FileOperation)
    except msgspec.ValidationError:
        return FileOperation(type="update_file", path="", diff=arguments)
    if operation.type == "delete_file":
        return msgspec.structs.replace(operation, diff=UNSET)
    return msgspec.structs.replace(operation, diff="") if operation.diff is UNSET else operation
