"""Writes recordings as folders that only their owner can read, and finds them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .recording import ABOUT

MOST_FOLDERS: Final = 10_000
"""Recordings of one folder that are looked at."""
_ALL_BITS: Final = 0o777
_OTHERS_WRITE: Final = 0o022
"""The group's and everybody's permission to write."""


class UnfitFolderError(Exception):
    """Recordings cannot be kept in this folder; the text says why, without its last period."""


def prepare(folder: Path) -> int:
    """Create the folder for recordings, if it is missing, and return how many bytes it holds.

    Raises `UnfitFolderError` if it cannot be used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_mode & _OTHERS_WRITE:
            message = f"{folder} can be written by others; name a folder in it, which is then created for you alone"
            raise UnfitFolderError(message)
        probe = folder / f".probe-{os.getpid()}"
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
        return size_of_folder(folder)
    except FileExistsError:
        raise UnfitFolderError(f"{folder} is not a folder") from None
    except OSError as error:
        raise UnfitFolderError(f"{folder} cannot be written: {error.strerror}") from None


def size_of_folder(folder: Path) -> int:
    """The bytes of all files in the folder and in its folders."""
    return sum(entry.stat(follow_symlinks=False).st_size for entry in _files(folder))


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))


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


def folders_in(folder: Path) -> list[Path]:
    """The recordings in this folder, or the folder itself if it is one. Raises `OSError` if it cannot be read.

    Hidden folders, which are not complete, are left out.
    """
    if (folder / ABOUT).exists():
        return [folder]
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
    return [folder / name for name in sorted(names)[:MOST_FOLDERS]]
