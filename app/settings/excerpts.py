"""The line of a configuration that a mistake is in, without its secrets, and the part of it that is wrong."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from ..options import Can
from .configuration import Model
from .mistakes import Excerpt, Path
from .server import KeyTable, Seal, Server
from .toml_places import Place, Span
from .upstream import Upstream

_SECRET: Final = {"api_key", "keys", "sha256", "value"}
_TABLES: Final = (Server, Seal, KeyTable, Upstream, Model, Can)
SHOWN: Final = {name for table in _TABLES for name in table.model_fields} - _SECRET
"""Settings whose values are shown. An unknown key may be a secret one with a typing error."""
_REFERENCE: Final = re.compile(r"""["'](?:env:[A-Za-z_][A-Za-z0-9_]*|file:[^"'\n]*|\$\{[A-Za-z_][A-Za-z0-9_]*\})["']""")
_NO_TEXT: Final = re.compile(r"[+-]?[0-9._:a-zTZ+-]{1,40}")
_HELD: Final = re.compile(r"@|[?#]")
"""In an address: what may be followed, or preceded, by a password or a key."""
_NAME: Final = r"""[ \t]*(?P<name>[A-Za-z0-9_.-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_PAIR: Final = re.compile(_NAME + "[=:][ \t]*")
_WORD: Final = re.compile(r"[ \t]*(?P<name>[A-Za-z0-9_.-]+)[ \t]+(?=\S)")
_HEADER: Final = re.compile(r"[ \t]*\[{1,2}[ \t]*[A-Za-z_]+[ \t]*(?:\.[^\[\]{}=,]*+)?\]{0,2}[ \t]*+(?:#.*)?")
_SECRET_WORD: Final = re.compile(
    r"(?i)(?:key|keys|value|sha256|token|secret|password)[\"']?[ \t]*(?:[=:][ \t]*)?(?=\S)"
)
_HIDDEN: Final = "***"
_MOST_LINES: Final = 1000
"""How far the name of a value over several lines is searched."""


class NumberedLines:
    """The lines of a text, found by the position of a character."""

    def __init__(self, text: str) -> None:
        """Find where each line starts, once."""
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line(self, position: int) -> int:
        """The number of the line, from 1."""
        return bisect_right(self._starts, position)

    def span(self, line: int) -> Span:
        """Where a line starts and ends."""
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        return self._starts[line - 1], end

    def position(self, line: int, column: int) -> int:
        """The position of a character by its line and column, from 1."""
        start, end = self.span(min(line, len(self._starts)))
        return min(start + column - 1, end)

    def excerpt(self, span: Span, secrets: Iterable[Span]) -> Excerpt:
        """The line in which `span` starts, with `***` for what is secret in it."""
        line = self.line(span[0])
        start, end = self.span(line)
        hidden = sorted((max(start, a), min(end, b)) for a, b in secrets if a < end and b > start)
        cuts = [(start, start), *hidden, (end, end)]
        shown, marked = "", [0, 0]
        for before, (from_, to) in pairwise(cuts):
            plain = self.text[before[1] : from_]
            for index in (0, 1):
                if before[1] <= span[index] <= from_:
                    marked[index] = len(shown) + span[index] - before[1]
                elif from_ < span[index]:
                    marked[index] = len(shown) + len(plain) + (len(_HIDDEN) if to > from_ else 0) * index
            shown += plain + (_HIDDEN if to > from_ else "")
        length = max(1, min(marked[1], len(shown)) - marked[0])
        return Excerpt(line, span[0] - start + 1, shown, marked[0], length)


def secrets_in(text: str, places: dict[Path, Place]) -> Iterator[Span]:
    """Every value of a valid text that may be a secret, except for references to variables and files."""
    for path, place in places.items():
        start, end = place.value
        value = text[start:end]
        if place.key == place.value and not isinstance(path[-1], int):  # a table
            continue
        if value[0] in "[{" or _REFERENCE.fullmatch(value):
            continue
        if (not _is_shown(path) and not _NO_TEXT.fullmatch(value)) or ("://" in value and _HELD.search(value)):
            yield start, end


def _is_shown(path: Path) -> bool:
    names = [step for step in path if isinstance(step, str)]
    return names[-1] in SHOWN or names[:1] == ["models"] and "names" in names  # noqa: RUF021 — as it is said


def secrets_in_broken(lines: NumberedLines, line: int) -> Iterator[Span]:
    """What may be secret in this line of a text that is no TOML."""
    start, end = lines.span(line)
    text = lines.text[start:end]
    found = _HEADER.match(text) or _PAIR.match(text)
    if found is None:
        if _may_continue_secret(lines, line):
            yield start + len(text) - len(text.lstrip()), end
            return
        found = _WORD.match(text)
    if found is not None and found.groupdict().get("name", "").rpartition(".")[2] in SHOWN:
        if "://" in text and _HELD.search(text):
            yield start + found.end(), end
        found = _SECRET_WORD.search(text, found.end())
    if found is not None and found.end() < len(text):
        yield start + found.end(), end


def _may_continue_secret(lines: NumberedLines, line: int) -> bool:
    """Whether a line without a name may belong to a value that is not shown."""
    for earlier in range(line - 1, max(0, line - _MOST_LINES), -1):
        start, end = lines.span(earlier)
        text = lines.text[start:end]
        if found := _PAIR.match(text):
            return found["name"].rpartition(".")[2] not in SHOWN
        if _HEADER.fullmatch(text):
            return False
    return True
