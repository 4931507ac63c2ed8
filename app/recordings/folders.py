"""Writes recordings as folders that only their owner can read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .recording import ABOUT

MOST_FOLDERS: Final = 10_000
"""Recordings of one folder."""
_PACKAGE: Final = Path(__file__).resolve().parents[1]
"""The code of the server, with the page that it serves."""
_OTHERS_WRITE: Final = 0o022
"""The group's and everybody's permission to write."""


class UnfitFolderError(Exception):
    """Recordings cannot be kept in this folder; the text says why, without its last period."""


def prepare(folder: Path) -> tuple[int, int]:
    """Create the folder for recordings, if it is missing, and return how many it holds, and their bytes.

    Raises `UnfitFolderError` if it cannot be used.
    """
    folder = folder.absolute()
    if folder.resolve().is_relative_to(_PACKAGE):
        raise UnfitFolderError(f"{folder} is a part of AM Proxy; name a folder elsewhere")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & _OTHERS_WRITE:
            message = f"{folder} can be written by others; name a folder in it, which is then created for you alone"
            raise UnfitFolderError(message)
        probe = folder / f".probe-{os.urandom(4).hex()}"
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
        return _held(folder)
    except (FileExistsError, NotADirectoryError):
        raise UnfitFolderError(f"{folder} is not a folder") from None
    except OSError as error:
        raise UnfitFolderError(f"{folder} cannot be written: {error.strerror}") from None


def _held(folder: Path) -> tuple[int, int]:
    """The number of recordings in the folder and their bytes. Raises `UnfitFolderError` if it holds anything else."""
    count = size = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if not entry.is_dir(follow_symlinks=False) or not (folder / entry.name / ABOUT).exists():
                message = f"{folder} holds {entry.name[:80]}, which is no recording; name a folder of its own"
                raise UnfitFolderError(message)
            count += 1
            with os.scandir(entry) as files:
                size += sum(file.stat(follow_symlinks=False).st_size for file in files)
    return count, size


def write(parent: Path, name: str, files: Mapping[str, bytes]) -> None:
    """Write these files into a new folder. It gets its name when it is complete. Raises `OSError`."""
    unfinished = parent / f".{name}"
    unfinished.mkdir(mode=0o700)
    try:
        for file, data in files.items():
            descriptor = os.open(unfinished / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as opened:  # noqa: PTH123 — it is open already
                opened.write(data)
        unfinished.rename(parent / name)
    except OSError:
        for file in files:
            (unfinished / file).unlink(missing_ok=True)
        unfinished.rmdir()
        raise
