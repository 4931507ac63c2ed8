"""The types of booleans and numbers in the file. Variables and flags are text, so pydantic itself must accept text."""

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Final, Union, get_args, get_origin

from ..options import Can, Table
from .configuration import ROWS
from .mistakes import Path

_NAMES: Final[dict[type, str]] = {bool: "true or false", int: "a whole number", float: "a number"}
_REFERENCE: Final = re.compile(r"\A(?:env|file):|\$\{")
_NUMBER: Final = re.compile(r"[+-]?[0-9][0-9_.]{0,30}")


def wrong_types(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Every literal value of the wrong type, and what it must be: pydantic would take `"yes"`, `1` or `8080.0`."""
    for kind, row in ROWS.items():
        tables = data.get(kind)
        match tables:
            case dict() if kind in {"server", "seal", "search", "limits"}:
                yield from _of_table(row, tables, (kind,))
            case dict() | list():
                each = tables.items() if isinstance(tables, dict) else enumerate(tables)
                for name, table in each:
                    yield from _of_table(row, table, (kind, name))
            case _:
                pass


def _of_table(row: type[Table], table: object, path: Path) -> Iterator[tuple[Path, str]]:
    for name, value in table.items() if isinstance(table, dict) else ():
        if row is ROWS["models"] and name == "can":
            yield from _of_table(Can, value, (*path, name))
        elif (field := row.model_fields.get(name)) is not None:
            wanted = _scalar(field.annotation)
            if wanted in _NAMES and not _fits(value, wanted):
                yield (*path, name), f"must be {_NAMES[wanted]}{_without_quotes(value, wanted)}"


def _fits(value: object, wanted: type) -> bool:
    match value:
        case str():
            return _REFERENCE.search(value) is not None
        case bool():
            return wanted is bool
        case int():
            return wanted in {int, float}
        case float():
            return wanted is float
        case _:
            return False


def _without_quotes(value: object, wanted: type) -> str:
    """What to do about a text that would be right without its quotes."""
    if not isinstance(value, str):
        return ""
    is_near = value in {"true", "false"} if wanted is bool else _NUMBER.fullmatch(value) is not None
    return ", without quotes" if is_near else ""


def _scalar(annotation: Any) -> type:
    """The type of a field that is a boolean or a number, or may be."""
    while get_origin(annotation) in {Annotated, Union, types.UnionType}:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        else:
            annotation = next(each for each in get_args(annotation) if each is not type(None))
    return annotation if isinstance(annotation, type) else object
