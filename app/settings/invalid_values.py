"""The mistakes that pydantic finds, in words for users."""

import re

from pydantic_core import ErrorDetails

from ..options import Can, Table
from .configuration import Model
from .mistakes import Mistake, Path, did_you_mean, spelled
from .server import KeyTable, Seal, Server
from .sources import Sources
from .upstream import Upstream

_ROWS: dict[str, type[Server | Seal | KeyTable | Upstream | Model]] = {
    "server": Server,
    "seal": Seal,
    "keys": KeyTable,
    "upstreams": Upstream,
    "models": Model,
}

_MESSAGES: dict[str, str] = {
    "missing": "is missing",
    "string_pattern_mismatch": "must be small letters, digits, _ and -",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
}
"""The messages for pydantic's kinds of errors."""


def invalid(sources: Sources, path: Path, detail: ErrorDetails) -> Mistake:
    """One of pydantic's errors as a message for users."""
    context = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            message = f"is not a setting here{_elsewhere(path)}"
        case "literal_error":
            choices = [word.strip("'") for word in re.split(", | or ", context["expected"])]
            message = f"must be one of {', '.join(choices)}"
            message += did_you_mean(value, choices) if isinstance(value, str) else ""
        case "value_error":
            message = str(context["error"])
        case "model_type" | "dict_type":
            message = f"must be a table: [{spelled(path)}]"
        case "tuple_type":
            message = f"must be a list of tables: [[{spelled(path)}]]" if path == ("keys",) else "must be a list"
        case other:
            message = _MESSAGES.get(other) or re.sub(r"^\w+ should", "must", detail["msg"])
    return sources.mistake(path, message, at_key=detail["type"] == "extra_forbidden")


def _elsewhere(path: Path) -> str:
    """A hint at the setting that may be meant by an unknown key."""
    word = str(path[-1])
    if len(path) == 1:
        near = did_you_mean(word, _ROWS)
        return f" (did you mean server.{word}?)" if not near and word in Server.model_fields else near
    table: type[Table] = Can if path[0] == "models" and "can" in path[2:-1] else _ROWS[str(path[0])]
    return did_you_mean(word, table.model_fields)
