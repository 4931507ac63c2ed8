"""A configuration file: what it says, or why it cannot be read."""

import tomllib
from pathlib import Path
from typing import Any

from .files import CODEX, MOST_BYTES, owner


class UnreadableFileError(Exception):
    """A file that is no configuration: a part of a sentence that says why."""


def read(path: Path) -> dict[str, Any]:
    """What the file at `path` says. Raises `UnreadableFileError`."""
    try:
        raw = path.read_bytes()
        if len(raw) > MOST_BYTES:
            raise UnreadableFileError("is too large for a configuration")
        data = tomllib.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise UnreadableFileError(f"cannot be read: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise UnreadableFileError("is not UTF-8 text") from error
    except ValueError as error:  # tomllib's own, or Python's for a number of thousands of digits
        raise UnreadableFileError(f"is not TOML: {error}") from error
    except RecursionError as error:
        raise UnreadableFileError("is nested too deeply") from error
    if owner(data) == "codex":
        raise UnreadableFileError(CODEX)
    return data


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
