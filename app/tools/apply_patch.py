"""Changes of files: create, update, delete. One operation per call. Codex' `apply_patch` is a custom tool."""

import msgspec

from ..emitter.items import OpenCall, Position
from ..types.json import Json, as_object, decode, encode, given
from ..types.request import Shape, Tool, ToolItem
from ..types.response import ItemStatus, OutputItem
from .base import Carried, FunctionSpec, NameOf, PastOutput, PastOutputItem, ToolType
from .calls import OpenAction
from .function import object_of

_DESCRIPTION = (
    "Creates, updates or deletes one file. For `create_file`, `diff` is the new file, each line behind a `+`. "
    "For `update_file`, `diff` is one or more hunks: a line `@@` (or `@@ ` and a line of the file to find the place, "
    "such as a function's head), then lines behind a space (kept), a `-` (removed) or a `+` (added), with three kept "
    "lines around each change."
)
_KINDS = ["create_file", "update_file", "delete_file"]
_PARAMETERS = object_of(
    {
        "type": {"type": "string", "enum": _KINDS},
        "path": {"type": "string", "description": "The file, relative to the root of the workspace."},
        "diff": {"type": "string", "description": "What changes; left out for `delete_file`."},
    },
    "type",
    "path",
)


class ApplyPatchTool(Tool):
    """Creates, changes and deletes files."""


class PatchOperation(Shape, kw_only=True):
    """A past change of one file."""

    type: str
    path: str
    diff: str | None = None


class ApplyPatchCallItem(ToolItem, kw_only=True, tag="apply_patch_call"):
    """A past call of `apply_patch`."""

    call_id: str
    operation: PatchOperation


class ApplyPatchCallOutputItem(PastOutputItem, kw_only=True, tag="apply_patch_call_output"):
    """Whether the change succeeded, and the message of the client."""

    call_id: str
    output: str | None = None


class ApplyPatchCall(OutputItem, tag="apply_patch_call"):
    """A call. It cannot be `incomplete`."""

    status: ItemStatus
    call_id: str
    operation: Json
    """Only `delete_file` has no `diff`."""


def _function(_: ApplyPatchTool, name: str) -> FunctionSpec:
    return FunctionSpec(name=name, description=_DESCRIPTION, parameters=_PARAMETERS)


def _arguments(item: ApplyPatchCallItem, _: Carried) -> str:
    return encode(given(msgspec.structs.asdict(item.operation))).decode()


def _told(item: ApplyPatchCallOutputItem, _: NameOf) -> PastOutput:
    lines = [f"[{item.status}]" if item.status else "", item.output or ""]
    return PastOutput(item.call_id, "\n".join(filter(None, lines)))


def _open(_: Carried, call_id: str, position: Position) -> OpenCall:
    def item(status: ItemStatus, arguments: str) -> ApplyPatchCall:
        operation = _operation(arguments)
        if status == "in_progress" and "diff" in operation:  # type and path are read here, the diff at the end
            operation["diff"] = ""
        return ApplyPatchCall(position.id, status, call_id, operation)

    return OpenAction(position, item)


def _operation(arguments: str) -> Json:
    """The operation. Arguments that do not describe one become its diff: the client's error shows the model why."""
    read = as_object(decode(arguments))
    inner = read.get("operation")
    kind, path, diff = ((as_object(inner) or read).get(key) for key in ("type", "path", "diff"))
    if kind not in _KINDS or not isinstance(path, str) or not isinstance(diff, str | None):
        return {"type": "update_file", "path": "", "diff": arguments}
    operation = {"type": kind, "path": path}
    return operation if kind == "delete_file" else {**operation, "diff": diff or ""}


APPLY_PATCH = ToolType(
    "apply_patch",
    ApplyPatchTool,
    ApplyPatchCallItem,
    ApplyPatchCallOutputItem,
    "apc",
    _function,
    _arguments,
    _told,
    _open,
)
