"""Finds the place of each key and value in a TOML text, which the standard reader does not report.

It only sees text that the standard reader has accepted, so it refuses nothing and can be small.
"""

import re
import tomllib
from typing import NamedTuple

from .mistakes import Path

Span = tuple[int, int]
"""Where something starts in the text, and where it ends."""

STRING = r'"""(?:[^\\]|\\.)*?"{3,5}' + r"|'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'"

_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'")
_STRING = re.compile(STRING, re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]+")


class Place(NamedTuple):
    """Where a setting is. That of a table is its header, and an element of a list is its own key."""

    key: Span
    value: Span


def places_of(text: str) -> dict[Path, Place]:
    """Every table, key and list element of a valid TOML text with line feeds, by path."""
    return _Places(text).read()


class _Places:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[Path, Place] = {}
        self.elements: dict[Path, int] = {}
        """How many elements each array of tables has so far."""

    def read(self) -> dict[Path, Place]:
        table: Path = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)
        return self.places

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the table of the next keys. A name before the last may mean an array's end."""
        array = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if array else 1
        names = self.key()
        self.at += 2 if array else 1
        path: Path = ()
        for index, (name, span) in enumerate(names):
            place = Place(span, (start, self.at))
            path += (name,)
            if array and index == len(names) - 1:
                self.places.setdefault(path, place)
                self.elements[path] = self.elements.get(path, 0) + 1
            if path in self.elements:
                path += (self.elements[path] - 1,)
            self.places.setdefault(path, place)
        return path

    def pair(self, table: Path) -> None:
        """Reads `key = value`."""
        path = table
        names = self.key()
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        for name, span in names:
            path += (name,)
            self.places.setdefault(path, Place(span, span))
        span = names[-1][1]
        self.places[path] = Place(span, self.value(path))

    def value(self, path: Path) -> Span:
        start = self.at
        match self.text[self.at]:
            case "[":
                self.at += 1
                self.skip(_BLANK)
                index = 0
                while self.text[self.at] != "]":
                    span = self.value((*path, index))
                    self.places[*path, index] = Place(span, span)
                    index += 1
                    self.comma()
                self.at += 1
            case "{":
                self.at += 1
                self.skip(_BLANK)
                while self.text[self.at] != "}":
                    self.pair(path)
                    self.comma()
                self.at += 1
            case '"' | "'":
                self.skip(_STRING)
            case _:
                self.skip(_SCALAR)
                return start, start + len(self.text[start : self.at].rstrip())
        return start, self.at

    def key(self) -> list[tuple[str, Span]]:
        """Reads a dotted key: its names, each with its place."""
        names = []
        while True:
            self.skip(_SPACE)
            start = self.at
            if bare := _BARE.match(self.text, self.at):
                name = bare[0]
                self.at = bare.end()
            else:
                self.skip(_QUOTED)
                name = str(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
            names.append((name, (start, self.at)))
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def comma(self) -> None:
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)

    def skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
