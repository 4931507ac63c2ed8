"""The mistakes that pydantic finds, in words for users."""

import re

from pydantic_core import ErrorDetails

from ..options import Can, Table
from .configuration import ROWS
from .gone import instead_of
from .mistakes import Mistake, Path, did_you_mean, spelled
from .server import Server
from .sources import Sources

_MESSAGES: dict[str, str] = {
    "missing": "is missing",
    "string_pattern_mismatch": "must be 1 to 64 small letters, digits, _ and -",
    "string_too_long": "must have at most {max_length} characters",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}
"""The messages for pydantic's kinds of errors."""


def invalid(sources: Sources, path: Path, detail: ErrorDetails) -> Mistake:
    """One of pydantic's errors as a message for users."""
    context = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            instead = instead_of("setting", ".".join(map(str, (path[0], *(path[2:] or path[1:])))))
            message = f"is gone; {instead}" if instead else f"is not a setting here{_elsewhere(path)}"
        case "literal_error":
            choices = [word.strip("'") for word in re.split(", | or ", context["expected"])]
            instead = instead_of("value", f"{path[-1]} = {value}")
            message = f"must be one of {', '.join(choices)}"
            message += did_you_mean(value, choices) if isinstance(value, str) else ""
            message = f"{value} is gone; {instead}" if instead else message
        case "value_error":
            message = str(context["error"])
        case "model_type" | "dict_type":
            message = f"must be a table: {'[[keys]]' if path[0] == 'keys' else f'[{spelled(path)}]'}"
        case "tuple_type":
            message = f"must be a list of tables: [[{spelled(path)}]]" if path == ("keys",) else "must be a list"
        case other:
            limits = {name: _plain(limit) for name, limit in context.items()}
            message = _MESSAGES.get(other, "is not valid").format(**limits)
    return sources.mistake(path, message)


def _plain(number: object) -> object:
    """A limit as people write it: 86400, and not 86400.0."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _elsewhere(path: Path) -> str:
    """A hint at the setting that may be meant by an unknown key."""
    word = str(path[-1])
    if len(path) == 1:
        near = did_you_mean(word, ROWS)
        return f" (did you mean server.{word}?)" if not near and word in Server.model_fields else near
    table: type[Table] = Can if path[0] == "models" and "can" in path[2:-1] else ROWS[str(path[0])]
    return did_you_mean(word, table.model_fields)
