"""Finds the line of each key in a TOML text, which the standard reader does not report.

It only sees text that the standard reader has accepted, so it refuses nothing and can be small.
"""

import re
import tomllib

from .mistakes import Path

_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' + r"|'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}\n#]+")


def lines_of(text: str) -> dict[Path, int]:
    """Every table, key and array element of a valid TOML text, by path, with its line (from 1)."""
    return _Lines(text).read()


class _Lines:
    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.elements: dict[Path, int] = {}
        """How many elements each array of tables has so far."""

    def read(self) -> dict[Path, int]:
        table: Path = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            table = self.header() if self.text[self.at] == "[" else self.pair(table)
            self.skip(_BLANK)
        return self.lines

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the table of the next keys. A name before the last may mean an array's end."""
        array = self.text.startswith("[[", self.at)
        line = self.line()
        self.at += 2 if array else 1
        names = self.key()
        self.at += 2 if array else 1
        path: Path = ()
        for index, name in enumerate(names):
            path += (name,)
            last = index == len(names) - 1
            if array and last:
                self.lines.setdefault(path, line)
                self.elements[path] = self.elements.get(path, 0) + 1
            if path in self.elements:
                path += (self.elements[path] - 1,)
            self.lines.setdefault(path, line)
        return path

    def pair(self, table: Path) -> Path:
        """Reads `key = value`; returns the table, for the keys that follow."""
        line = self.line()
        path = table
        for name in self.key():
            path += (name,)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        self.value(path)
        return table

    def value(self, path: Path) -> None:
        self.lines.setdefault(path, self.line())
        match self.text[self.at]:
            case "[":
                self.at += 1
                self.skip(_BLANK)
                index = 0
                while self.text[self.at] != "]":
                    self.value((*path, index))
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

    def key(self) -> list[str]:
        """Reads a dotted key."""
        names = []
        while True:
            self.skip(_SPACE)
            if bare := _BARE.match(self.text, self.at):
                names.append(bare[0])
                self.at = bare.end()
            else:
                names.append(self.quoted())
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def quoted(self) -> str:
        start = self.at
        self.skip(_QUOTED)
        return str(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])

    def comma(self) -> None:
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)

    def skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1
