"""The files of one run of `am-proxy launch`, in a folder of the user's cache: what the agent reads, and the log."""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Final

from ..observers.recording_writer import IS_RECORDING
from ..settings import Server
from .logs import configure

_KEPT: Final = 7 * 86_400
"""Seconds for which the log of a run is kept."""


class _Problems(logging.Handler):
    """Remembers whether anything went wrong."""

    seen = False

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record: a warning, but not of what was asked for, or the line of a turn that failed."""
        failed = getattr(record, "fields", {}).get("finish") in {"failed", "refused"}
        self.seen = self.seen or failed or (record.levelno >= logging.WARNING and record.msg != IS_RECORDING)


@contextmanager
def run_folder(name: str) -> Iterator[Path]:
    """A new folder for one run. At its end only a log with problems stays, for a week."""
    folder = _new_folder(name)
    try:
        yield folder
    finally:
        for file in folder.iterdir():
            if file.suffix != ".log":
                file.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


def _new_folder(name: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parent = cache / "am-proxy" / "launch"
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in parent.iterdir():
            with suppress(OSError):  # another run may remove it
                if old.is_dir() and old.stat().st_mtime < time.time() - _KEPT:
                    shutil.rmtree(old, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    except OSError:  # a home that cannot be written
        return Path(tempfile.mkdtemp(prefix=f"am-proxy-{name}-"))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files for the agent."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


@contextmanager
def logged(log: Path, server: Server) -> Iterator[None]:
    """Write the server's log, and whatever else this process prints, to a file: the screen is the agent's.

    A log without problems is removed at the end.
    """
    problems = _Problems()
    try:
        with log.open("w", encoding="utf-8", buffering=1) as file, redirect_stdout(file), redirect_stderr(file):
            configure("text" if server.log_format == "auto" else server.log_format, server.log_level)
            logging.getLogger().addHandler(problems)
            try:
                yield
            finally:
                logging.getLogger().handlers.clear()  # the file is closed
    finally:
        if not problems.seen:
            log.unlink(missing_ok=True)
