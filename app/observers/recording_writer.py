"""Writes recordings into a folder, in a thread of its own, until the folder is full. Nothing in it is ever deleted."""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..own_thread import in_own_thread
from ..recordings.folders import MOST_FOLDERS, prepare, write
from ..recordings.recording import Recording
from ..recordings.recording_files import files_of

log = logging.getLogger("am_proxy")

IS_RECORDING: Final = "record is on: %s gets everything that clients and models send, except keys, images and files"
AT_THE_END: Final = 5
"""Seconds for writing what waits when the server stops."""
MOST_WAITING: Final = 200
"""Recordings that may wait to be written. Their bytes are limited where they are held."""
SHARE: Final = 4
"""One of several callers may fill this part of the folder: a quarter."""

Full = Literal["", "folder", "share"]


class RecordingWriter:
    """Writes one recording after the other. Raises `UnfitFolderError` if the folder cannot be used."""

    def __init__(self, folder: Path, most_bytes: int, *, several_callers: bool) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._several_callers = several_callers
        self._count, self._bytes = prepare(folder)
        self._bytes_of: Counter[str] = Counter()
        """Bytes of each caller since the start. All callers without a key of this server are one."""
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._said: set[str] = set()
        """What was logged: each is logged once."""
        log.warning(IS_RECORDING, folder)

    def write(self, owner: str, key: str, make: Callable[[], Recording], at_end: Callable[[], None]) -> None:
        """Writes what `make` returns, which is called in the thread, and then calls `at_end`.

        If too many wait already, it is lost.
        """
        if len(self._tasks) >= MOST_WAITING:
            self.say_once("lost", "record: turns are not recorded, because %s is written too slowly", self.folder)
            at_end()
            return
        task = asyncio.get_running_loop().create_task(self._write(owner, key, make, at_end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Writes what still waits, for a few seconds at most."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=AT_THE_END)
        for task in self._tasks:
            task.cancel()

    def say_once(self, what: str, message: str, *arguments: object) -> None:
        """Logs a warning, unless one of this kind was logged before."""
        if what not in self._said:
            self._said.add(what)
            log.warning(message, *arguments)

    async def _write(self, owner: str, key: str, make: Callable[[], Recording], at_end: Callable[[], None]) -> None:
        caller = "guest" if owner.startswith("guest:") else owner
        try:
            async with self._one_at_a_time:
                full = await in_own_thread(partial(self._write_now, caller, make))
            if full == "folder":
                self.say_once("full", "record: %s is full, so nothing more is recorded: see record_bytes", self.folder)
            elif full == "share":
                self.say_once(
                    f"share of {caller}",
                    "record: %s has filled its share of %s, a quarter, so no more of its turns are recorded",
                    key,
                    self.folder,
                )
        except OSError as error:
            self.say_once("failed", "record: %s cannot be written: %s", self.folder, error.strerror or "no thread left")
        except Exception:
            log.exception("record: a turn could not be recorded")
        finally:
            at_end()

    def _write_now(self, caller: str, make: Callable[[], Recording]) -> Full:
        if self._bytes >= self._most_bytes or self._count >= MOST_FOLDERS:
            return "folder"
        if self._several_callers and self._bytes_of[caller] >= self._most_bytes // SHARE:
            return "share"
        files = files_of(make())
        size = sum(map(len, files.values()))
        if self._bytes + size > self._most_bytes:
            return "folder"
        if self._several_callers and self._bytes_of[caller] + size > self._most_bytes // SHARE:
            return "share"
        self._count += 1
        now = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        write(self.folder, f"{now}-{self._count:05}-{os.urandom(4).hex()}", files)
        self._bytes += size
        self._bytes_of[caller] += size
        return ""
