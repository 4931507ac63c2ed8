"""Function tools, sent as they are. Parameters that do not describe an object become the one property of an object."""

from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from ..emitter.items import OpenCall, Position
from ..types import events as e
from ..types.json import Json, is_object
from ..types.request import Content
from ..types.response import FunctionCall
from .base import Carried, FunctionSpec, NamedCall, NamedTool, NameOf, PastOutput, PastOutputItem, ToolName, ToolType
from .calls import OpenText

VALUE = "value"
"""The one property of the object that is made around parameters that are no object."""
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys that hold schemas by name: any name, `encrypted` included."""
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
"""Keys that hold values, not schemas."""
_ROOT = ("$schema", "$defs", "definitions")
"""Keys that must stay at the root, because references to them begin there."""


def object_of(properties: Json, *required: str) -> Json:
    """The schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def for_chat(parameters: Json | None) -> Json | None:
    """These parameters as a schema of an object, without `"encrypted": true`, which strict servers refuse."""
    if parameters is None:
        return None
    schema = _cleaned(parameters)
    if wraps(schema):
        root = {key: schema.pop(key) for key in _ROOT if key in schema}
        return root | object_of({VALUE: schema}, VALUE)
    return schema if schema.get("type") == "object" or not schema else {**schema, "type": "object"}


def wraps(parameters: Json | None) -> bool:
    """Whether these parameters describe a value that is not an object."""
    kind = (parameters or {}).get("type", "object")
    return kind != "object" and not (isinstance(kind, list) and "object" in kind)


def _cleaned(schema: Json) -> Json:
    cleaned: Json = {}
    for key, value in schema.items():
        if key == "encrypted" and value is True:
            continue
        if key in _NAMED and isinstance(value, dict):
            cleaned[key] = {name: _within(inner) for name, inner in value.items()}
        else:
            cleaned[key] = value if key in _DATA else _within(value)
    return cleaned


def _within(value: Any) -> Any:
    if isinstance(value, dict):
        return _cleaned(value)
    return [_within(entry) for entry in value] if isinstance(value, list) else value


class FunctionTool(NamedTool):
    """A function that the client runs itself."""

    parameters: Json | None = None
    strict: bool | None = None


class FunctionCallItem(NamedCall, kw_only=True, tag="function_call"):
    """A past call of a function, its arguments as the model wrote them."""

    arguments: str


class FunctionCallOutputItem(PastOutputItem, kw_only=True, tag="function_call_output"):
    """The output of a past call. Of a call that was not waited for, it may name only the tool."""

    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    output: Content


class _Plain:
    """The arguments as the model writes them."""

    def __init__(self) -> None:
        self._blank = True

    def feed(self, text: str) -> str:
        self._blank = self._blank and not text.strip()
        return text

    def rest(self) -> str:
        return "{}" if self._blank else ""


class _Wrapped:
    """Arguments that are no object: they are taken out of the object around them when it is complete."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, text: str) -> str:
        self._pieces.append(text)
        return ""

    def rest(self) -> str:
        """The one argument as the model wrote it. Text that is not an object with it is returned unchanged."""
        written = "".join(self._pieces) or "{}"
        try:
            fields = msgspec.json.decode(written, type=dict[str, msgspec.Raw])
        except (ValueError, RecursionError):
            return written
        return bytes(fields[VALUE]).decode() if VALUE in fields else written


def _function(tool: FunctionTool, name: str) -> FunctionSpec:
    parameters = for_chat(tool.parameters)
    return FunctionSpec(name=name, description=tool.description, parameters=parameters, strict=tool.strict)


def _arguments(item: FunctionCallItem, carried: Carried) -> str:
    wrapped = f'{{"{VALUE}":{item.arguments}}}'
    return wrapped if _wraps(carried) and is_object(wrapped) else item.arguments


def _told(item: FunctionCallOutputItem, name_of: NameOf) -> PastOutput:
    if item.call_id is None and item.name:
        return PastOutput(None, item.output, function=name_of(ToolName("function", item.name, item.namespace)))
    return PastOutput(item.call_id, item.output)


def _open(carried: Carried, call_id: str, position: Position) -> OpenCall:
    name, namespace = carried.tool.name, carried.tool.namespace or UNSET
    item = FunctionCall(position.id, "in_progress", call_id, name, "", namespace)
    reader = _Wrapped() if _wraps(carried) else _Plain()
    done = partial(e.FunctionCallArgumentsDone, name=name)
    return OpenText(position, item, "arguments", reader, e.FunctionCallArgumentsDelta, done)


def _wraps(carried: Carried) -> bool:
    return isinstance(carried.definition, FunctionTool) and wraps(carried.definition.parameters)


FUNCTION = ToolType(
    "function", FunctionTool, FunctionCallItem, FunctionCallOutputItem, "fc", _function, _arguments, _told, _open
)
