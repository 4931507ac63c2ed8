"""Validates posted JSON by a shape, or raises a problem with the exact path of the first fault."""

from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..protocol.problems import ProblemError, refuse
from ..protocol.request.shape import Shape

_JSON_NAMES: Final[dict[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "null",
}
_EXPECTED: Final = {
    "string_type": "a string",
    "bool_type": "a boolean",
    "int_type": "an integer",
    "float_type": "a number",
    "list_type": "an array",
    "tuple_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
}
"""What pydantic expected, by its type of error. Its own words name Python's types, and classes of this server."""


SHOWN: Final = 64
"""At most so many characters of a client's own name for a thing are repeated in a problem."""


AnyShape = TypeVar("AnyShape", bound=Shape)


def validated(shape: type[AnyShape], raw: dict[str, Any], path: str = "") -> AnyShape:
    """The object of this shape. Refuses the first fault, by its exact path."""
    try:
        read: AnyShape = shape.__pydantic_validator__.validate_python(raw)  # as `model_validate` does, in one call
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise _fault(first, path) from None
    return read


def an_object(raw: object, path: str) -> dict[str, Any]:
    """The value, which must be a JSON object."""
    if isinstance(raw, dict):
        return raw
    raise wrong_type(path, "an object", raw)


def an_array(raw: object, path: str) -> list[Any]:
    """The value, which must be a JSON array."""
    if isinstance(raw, list):
        return raw
    raise wrong_type(path, "an array", raw)


def type_of(raw: dict[str, Any], path: str) -> str:
    """The object's `type`, which it must have."""
    kind = raw.get("type")
    if isinstance(kind, str):
        return kind
    if kind is None:
        raise missing(f"{path}.type")
    raise wrong_type(f"{path}.type", "a string", kind)


def typed_object(raw: object, path: str) -> tuple[dict[str, Any], str]:
    """The value, which must be a JSON object, and its `type`, which it must have."""
    if type(raw) is dict and type(kind := raw.get("type")) is str:
        return raw, kind
    held = an_object(raw, path)
    return held, type_of(held, path)


def wrong_type(path: str, expected: str, got: object) -> ProblemError:
    """The refusal of a value of another JSON type."""
    name = _JSON_NAMES[type(got)]
    return refuse("invalid_type", f"Invalid type for '{path}': expected {expected}, but got {name}.", path)


def missing(path: str) -> ProblemError:
    """The refusal of an object that lacks a required member."""
    return refuse("missing_required_parameter", f"Missing required parameter: '{path}'.", path)


def _fault(error: ErrorDetails, path: str) -> ProblemError:
    for step in error["loc"]:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = step if len(step) <= SHOWN else f"{step[:SHOWN]}…"
            path += f".{name}" if path else name
    kind = error["type"]
    if kind == "missing":
        return missing(path)
    if kind in _EXPECTED and type(error["input"]) in _JSON_NAMES:
        return wrong_type(path, _EXPECTED[kind], error["input"])
    code = "invalid_type" if kind.endswith("_type") else "invalid_value"
    wrong = "type" if code == "invalid_type" else "value"
    _subject, _, should = error["msg"].partition(" ")  # the subject is often "Input", which is a parameter's name too
    details = f"it {should}" if should.startswith("should ") else error["msg"]
    return refuse(code, f"Invalid {wrong} for '{path}': {details}.", path)
