"""The folder of `--record`: each turn as the JSON that the inspector shows of it, one file a turn."""

import asyncio
import os
from pathlib import Path
from time import strftime

from ..types.json import encode
from .log import log
from .record import Kept
from .shown import shown

_WAITING = 64
"""Turns that wait to be written. Where a disk is slower than that, turns are left out."""


class Folder:
    """Writes turns as they end, in threads. Nothing in the folder is ever deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writing: set[asyncio.Task[None]] = set()

    def write(self, kept: Kept) -> None:
        """Write this turn, soon."""
        if len(self._writing) >= _WAITING:
            log.warning("record: a turn is left out, because %s is slow", self._folder)
            return
        task = asyncio.ensure_future(asyncio.to_thread(self._write, kept))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def close(self) -> None:
        """Wait until all is written."""
        await asyncio.gather(*self._writing)

    def _write(self, kept: Kept) -> None:
        name = f"{strftime('%Y%m%d-%H%M%S')}-{kept.number:06}-{kept.fields.get('request_id')}-{os.getpid()}.json"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(place, "wb") as file:
                file.write(encode(shown(kept, may_know=True)))
        except OSError as error:
            log.warning("record: %s cannot be written: %s", self._folder, error.strerror)
