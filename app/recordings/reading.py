"""Reads recordings. Their files may come from anybody: each is checked, and its size is limited."""

import os
import stat
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from ..json_text import holds_more_values, json_value
from .recording import (
    ABOUT,
    EVENTS,
    FORMAT,
    MOST_ASKS,
    REQUEST,
    About,
    Arrival,
    ClientEvent,
    Exchange,
    Recording,
    ask_name,
    upstream_name,
)

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of all files of one recording."""
MOST_VALUES: Final = 1_000_000
"""JSON values of one file."""
MOST_LEVELS: Final = 200
"""Levels of one JSON value: a request of 128 levels is answered, and recorded within an event."""
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

Line = TypeVar("Line", Arrival, ClientEvent)


class NoRecordingError(Exception):
    """A folder is no recording that can be read; the text says why, without its last period."""


class _Version(msgspec.Struct):
    format: int


def read(folder: Path) -> Recording:
    """The recording in this folder. Raises `NoRecordingError`."""
    reader = _FolderReader(folder)
    data = reader.data(ABOUT)
    version = _checked(ABOUT, data, _Version).format
    if version != FORMAT:
        raise NoRecordingError(f"{ABOUT}: its format is {version}, and this AM Proxy reads {FORMAT}")
    about = _checked(ABOUT, data, About)
    if len(about.upstreams) > MOST_ASKS:
        raise NoRecordingError(f"{ABOUT}: it has more than {MOST_ASKS} asks")
    exchanges = [
        Exchange(upstream, reader.json(ask_name(number)), reader.lines(upstream_name(number), Arrival))
        for number, upstream in enumerate(about.upstreams, 1)
    ]
    request = reader.json(REQUEST) if about.request_is_kept else None
    return Recording(about, request, exchanges, reader.lines(EVENTS, ClientEvent))


class _FolderReader:
    """Reads the files of one folder, up to `MOST_BYTES` together."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = MOST_BYTES

    def data(self, name: str) -> bytes:
        """The bytes of this file, which is no link."""
        try:
            descriptor = os.open(self._folder / name, _OPEN)
        except FileNotFoundError:
            raise NoRecordingError(f"{name} is missing") from None
        except OSError as error:
            raise NoRecordingError(f"{name} cannot be read: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NoRecordingError(f"{name} is not a file")
        with open(descriptor, "rb") as file:  # noqa: PTH123 — it is open already
            try:
                data = file.read(self._left + 1)
            except OSError as error:
                raise NoRecordingError(f"{name} cannot be read: {error.strerror}") from None
        self._left -= len(data)
        if self._left < 0:
            raise NoRecordingError(f"{name}: the recording has more than {MOST_BYTES} bytes")
        if holds_more_values(data, MOST_VALUES):
            raise NoRecordingError(f"{name} has more than {MOST_VALUES} JSON values")
        return data

    def json(self, name: str) -> Any:
        """The JSON in this file."""
        try:
            return _not_too_deep(name, json_value(self.data(name)))
        except (ValueError, RecursionError) as error:
            raise NoRecordingError(f"{name} is not JSON: {_first_line(error)}") from None

    def lines(self, name: str, kind: type[Line]) -> list[Line]:
        """The lines of this file. The last one ends with a line break too: it could have been cut."""
        lines = self.data(name).split(b"\n")
        if lines.pop():
            raise NoRecordingError(f"{name} is cut off in line {len(lines) + 1}")
        return [_checked(f"{name}, line {number}", line, kind) for number, line in enumerate(lines, 1)]


Checked = TypeVar("Checked")


def _checked(where: str, data: bytes, kind: type[Checked]) -> Checked:
    try:
        return msgspec.convert(_not_too_deep(where, json_value(data)), kind)
    except msgspec.ValidationError as error:
        raise NoRecordingError(f"{where}: {_first_line(error)}") from None
    except (ValueError, RecursionError) as error:
        raise NoRecordingError(f"{where} is not JSON: {_first_line(error)}") from None


def _not_too_deep(where: str, value: Any) -> Any:
    """The value, which functions that call themselves can walk through."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return value
    raise NoRecordingError(f"{where} has more than {MOST_LEVELS} levels of JSON")


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0][:200] or "it is nested too deeply"
