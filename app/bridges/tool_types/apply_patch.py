"""Changes of files: create, update, delete. One operation per call."""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ...protocol.output_items import ItemStatus, OutputItem
from ...protocol.request.shape import Shape
from ...protocol.request.tool_items import ToolItem
from ...protocol.request.tools import Tool
from ..action_calls import ActionBridge, read_object
from ..base import BridgedTool, FunctionSpec, PastCall, PastOutput
from ..naming import Names
from ..patch_reader import PatchReader
from ..registry import BRIDGES

_DESCRIPTION: Final = (
    "Creates, updates or deletes one file. For `create_file`, `diff` is the new file, each line behind a `+`. "
    "For `update_file`, `diff` is one or more hunks: a line `@@` (or `@@ ` and a line of the file to find the place, "
    "such as a function's head), then lines behind a space (kept), a `-` (removed) or a `+` (added), with three kept "
    "lines around each change."
)
_FIRST: Final = "*** Begin Patch"
_LAST: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_LEAST_LINES: Final = 3
_KINDS: Final[dict[str, Literal["create_file", "update_file", "delete_file"]]] = {
    "*** Add File: ": "create_file",
    "*** Update File: ": "update_file",
    "*** Delete File: ": "delete_file",
}
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


class ApplyPatchTool(Tool):
    """Creates, changes and deletes files."""

    type: Literal["apply_patch"]


class PatchOperation(Shape):
    """A past change of one file."""

    type: str
    path: str
    diff: str | None = None


class ApplyPatchCallItem(ToolItem):
    """A past call of `apply_patch`."""

    type: Literal["apply_patch_call"]
    call_id: str
    operation: PatchOperation


class ApplyPatchCallOutputItem(ToolItem):
    """Whether the change succeeded, and the message of the client."""

    type: Literal["apply_patch_call_output"]
    call_id: str
    status: str | None = None
    output: str | None = None


class FileOperation(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file; only `delete_file` has no `diff`."""

    type: Literal["create_file", "update_file", "delete_file"]
    path: str
    diff: str | UnsetType = UNSET


class ApplyPatchCall(OutputItem, frozen=True, kw_only=True, tag="apply_patch_call"):
    """A call. It cannot be `incomplete`."""

    status: Literal["in_progress", "completed"]
    call_id: str
    operation: FileOperation


class ApplyPatchBridge(ActionBridge):
    """A function shaped like the operation carries the typed `apply_patch`. Codex's is a custom tool instead."""

    tool = ApplyPatchTool
    call = ApplyPatchCallItem
    output = ApplyPatchCallOutputItem
    item_prefix = "apc"

    def declare(self, _tool: ApplyPatchTool, name: str, /) -> FunctionSpec:
        """A function shaped like the operation."""
        return FunctionSpec(name=name, description=_DESCRIPTION, parameters=_PARAMETERS)

    def read_call(self, item: ApplyPatchCallItem, bridged: BridgedTool, /) -> PastCall:
        """The operation as arguments."""
        operation = item.operation
        members = {"type": operation.type, "path": operation.path, "diff": operation.diff}
        arguments = {key: value for key, value in members.items() if value is not None}
        return PastCall(item.call_id, bridged.spec.name, msgspec.json.encode(arguments).decode())

    def read_output(self, item: ApplyPatchCallOutputItem, _names: Names, /) -> PastOutput:
        """The status, and the message of the client."""
        lines = [f"[{item.status}]" if item.status else "", item.output or ""]
        return PastOutput(item.call_id, "\n".join(line for line in lines if line))

    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> ApplyPatchCall:
        """An `apply_patch_call` item."""
        operation = _operation(arguments)
        if status != "in_progress":
            return ApplyPatchCall(id=item_id, status="completed", call_id=call_id, operation=operation)
        if operation.diff is not UNSET:  # clients read type and path here, and the diff when it is done
            operation = msgspec.structs.replace(operation, diff="")
        return ApplyPatchCall(id=item_id, status="in_progress", call_id=call_id, operation=operation)


BRIDGES.register(ApplyPatchBridge())


def _operation(arguments: str) -> FileOperation:
    """The operation. Arguments that do not describe one become its diff: the client's error shows the model why."""
    read = read_object(arguments)
    inner = read.get("operation")
    try:
        operation = msgspec.convert(inner if isinstance(inner, dict) else read, FileOperation)
    except msgspec.ValidationError:
        return _of_patch(arguments) or FileOperation(type="update_file", path="", diff=arguments)
    if operation.type == "delete_file":
        return msgspec.structs.replace(operation, diff=UNSET)
    if operation.diff is UNSET:
        return msgspec.structs.replace(operation, diff="")
    patched = _of_patch(operation.diff)
    return patched if patched and (patched.type, patched.path) == (operation.type, operation.path) else operation


def _of_patch(text: str) -> FileOperation | None:
    """The operation of a patch as Codex's tool takes it, if it changes one file and the text is nothing else."""
    if _FIRST not in text:
        return None
    reader = PatchReader("diff")
    lines = (reader.feed(text) + reader.rest()).strip().replace("\r\n", "\n").split("\n")
    if len(lines) < _LEAST_LINES or lines[0].rstrip() != _FIRST or lines[-1].rstrip() != _LAST:
        return None
    diff = lines[2:-1]
    if any(line.startswith("*** ") and line.rstrip() != _END_OF_FILE for line in diff):
        return None
    for words, kind in _KINDS.items():
        path = lines[1].removeprefix(words).strip()
        if lines[1].startswith(words) and path:
            return FileOperation(type=kind, path=path, diff=UNSET if kind == "delete_file" else "\n".join(diff))
    return None
