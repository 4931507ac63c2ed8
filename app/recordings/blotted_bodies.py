"""Removes from the body of an upstream's answer what must not be kept, and keeps where its pieces began and ended."""

from io import StringIO
from typing import Any, Final

from ..json_text import json_bytes, json_value
from ..key_search import redacted_line
from .blotted import blotted, blotted_all

_FIELD: Final = "data:"
_NOTHING: Final = object()


def blotted_pieces(pieces: list[str]) -> list[str]:
    """The pieces of one body: a stream of events, or JSON, or any other text.

    A line that changes is moved to the piece in which it begins.
    """
    text = "".join(pieces)
    whole = _decoded(text)
    if whole is not _NOTHING:
        kept = blotted(whole)
        return pieces if kept == whole else [json_bytes(kept).decode("utf-8", "surrogatepass")]
    lines = list(StringIO(text, newline=""))
    values = [_decoded(line[len(_FIELD) :]) if line.startswith(_FIELD) else _NOTHING for line in lines]
    decoded = [value for value in values if value is not _NOTHING]
    kept_values = iter(zip(decoded, blotted_all(decoded), strict=True))
    kept_lines = []
    for line, value in zip(lines, values, strict=True):
        if value is _NOTHING:
            kept_lines.append(redacted_line(line))
            continue
        before, after = next(kept_values)
        kept_lines.append(line if before == after else _line(line, after))
    return pieces if kept_lines == lines else _in_pieces(lines, kept_lines, pieces)


def _decoded(text: str) -> Any:
    try:
        return json_value(text.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return _NOTHING


def _line(line: str, value: Any) -> str:
    end = line[len(line.rstrip("\r\n")) :]
    return f"{_FIELD} {json_bytes(value).decode('utf-8', 'surrogatepass')}{end}"


def _in_pieces(lines: list[str], kept: list[str], pieces: list[str]) -> list[str]:
    """The kept lines in as many pieces. What is left of a piece whose lines all began before it is empty."""
    new: list[list[str]] = [[] for _ in pieces]
    number, room = 0, len(pieces[0])
    for line, kept_line in zip(lines, kept, strict=True):
        left = line
        first = True
        while left:
            while room == 0:
                number += 1
                room = len(pieces[number])
            part, left = left[:room], left[room:]
            room -= len(part)
            if line == kept_line:
                new[number].append(part)
            elif first:
                new[number].append(kept_line)
            first = False
    return ["".join(parts) for parts in new]
