"""Parameter schemas in the form that chat servers take: of an object, without keys that JSON Schema does not have."""

from typing import Any, Final

from ..json_text import json_bytes, json_value

Schema = dict[str, Any]

VALUE: Final = "value"
"""The one property of the object that is made around parameters that are no object."""

_UNCLEAN: Final = b'"encrypted":true'
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys that hold schemas by name: any name, `encrypted` included."""
_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keys that hold values, not schemas."""
_ROOT: Final = ("$schema", "$defs", "definitions")
"""Keys that must stay at the root, because references to them begin there."""


def for_chat(parameters: Schema | None) -> Schema | None:
    """These parameters, with their `$ref`s: no reference is resolved or fetched."""
    if parameters is None:
        return None
    schema = _own(parameters)
    if wraps(parameters):
        root: Schema = {key: schema.pop(key) for key in _ROOT if key in schema}
        wrapped: Schema = {"type": "object", "properties": {VALUE: schema}, "required": [VALUE]}
        return root | wrapped | {"additionalProperties": False}
    return schema if schema.get("type") == "object" or not schema else {**schema, "type": "object"}


def wraps(parameters: Schema | None) -> bool:
    """Whether these parameters describe a value that is not an object."""
    kind = (parameters or {}).get("type", "object")
    return kind != "object" and not (isinstance(kind, list) and "object" in kind)


def encrypts(parameters: Schema | None) -> bool:
    """Whether OpenAI's servers encrypt some of the arguments."""
    properties = (parameters or {}).get("properties")
    values = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(value, dict) and value.get("encrypted") is True for value in values)


def _own(parameters: Schema) -> Schema:
    """A copy that may be changed, cleaned. Nearly all schemas are clean, and written and read again in no time."""
    written = json_bytes(parameters)
    return _cleaned(parameters) if _UNCLEAN in written else json_value(written)


def _cleaned(schema: Schema) -> Schema:
    """The schema without `"encrypted": true`, which OpenAI's servers understand and strict ones refuse."""
    cleaned: Schema = {}
    for key, value in schema.items():
        if not isinstance(value, dict | list):  # as most are, so there is no call for them
            if key != "encrypted" or value is not True:
                cleaned[key] = value
        elif key in _NAMED and isinstance(value, dict):
            cleaned[key] = {name: _within(inner) for name, inner in value.items()}
        else:
            cleaned[key] = value if key in _DATA else _within(value)
    return cleaned


def _within(value: Any) -> Any:
    if isinstance(value, dict):
        return _cleaned(value)
    return [_within(entry) for entry in value] if isinstance(value, list) else value
