"""A configuration file: its text, what it says, and the place of each setting in it."""

import re
import tomllib
from pathlib import Path as FilePath
from typing import Any, Final

from .excerpts import NumberedLines, secrets_in, secrets_in_broken
from .files import CODEX, MOST_BYTES, owner
from .mistakes import Mistake, Path, spelled
from .toml_places import Place, places_of

_AT: Final = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_FIRST: Final = 4


class UnreadableFileError(Exception):
    """A file that is no configuration."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


class TomlFile:
    """A configuration file that was read."""

    def __init__(self, shown: str, text: str) -> None:
        """`shown` is its name in messages. Raises `UnreadableFileError`."""
        self.shown = shown
        self._lines = NumberedLines(text.replace("\r\n", "\n"))
        try:
            self.data: dict[str, Any] = tomllib.loads(self._lines.text)
            self.places: dict[Path, Place] = places_of(self._lines.text)
        except ValueError as error:  # tomllib's own, or Python's for a number of thousands of digits
            raise UnreadableFileError(self._broken(str(error))) from error
        except RecursionError as error:
            raise UnreadableFileError(Mistake(shown, "", "is nested too deeply")) from error
        if owner(self.data) == "codex":
            raise UnreadableFileError(Mistake(shown, "", CODEX))
        self._secrets = list(secrets_in(self._lines.text, self.places))

    def origin(self, path: Path) -> str:
        """`am-proxy.toml:3`."""
        return f"{self.shown}:{self._lines.line(self.places[path].key[0])}"

    def mistake(self, place: Path, path: Path, message: str, *, at_key: bool) -> Mistake:
        """A mistake in the setting at `path`, marked at `place`, which is the same or the nearest table around it."""
        known = self.places[place]
        span = known.key if at_key else known.value
        named = self.places.get((*place, message.partition(" ")[0]))  # a setting that means nothing in this table
        if named is not None:
            span = named.key
        return Mistake(self.shown, spelled(path), message, self._lines.excerpt(span, self._secrets))

    def _broken(self, reported: str) -> Mistake:
        from .toml_mistakes import explained  # noqa: PLC0415 — few files have one

        found, text = _AT.search(reported), self._lines.text
        if found and found["line"]:
            position = self._lines.position(int(found["line"]), int(found["column"]))
        else:
            position = len(text.rstrip())
        span, message = explained(self._lines, position, _AT.sub("", reported))
        secrets = secrets_in_broken(self._lines, self._lines.line(span[0]))
        return Mistake(self.shown, "", message, self._lines.excerpt(span, secrets))


def read(path: FilePath, shown: str) -> TomlFile:
    """The file at `path`. Raises `UnreadableFileError`."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(Mistake(shown, "", f"cannot be read: {reason(error)}")) from error
    if len(raw) > MOST_BYTES:
        raise UnreadableFileError(Mistake(shown, "", "is too large for a configuration"))
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw[:_FIRST]:
        raise UnreadableFileError(Mistake(shown, "", "is UTF-16 text: save it as UTF-8"))
    try:
        return TomlFile(shown, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableFileError(Mistake(f"{shown}:{line}", "", "is not UTF-8 text")) from error


def reason(error: Exception) -> str:
    """Why a file cannot be read."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case PermissionError():
            return "permission denied"
        case IsADirectoryError():
            return "it is a folder"
        case OSError():
            return error.strerror or "it cannot be opened"
        case _:
            return "it is not a path"
