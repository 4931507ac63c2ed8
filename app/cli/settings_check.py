"""Checks settings in a process of its own, which builds the whole server with them and ends.

The supervisor of workers itself runs no event loop and starts no thread: with threads it could not fork safely.
"""

import asyncio
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from ..main import CannotStartError, build_app
from ..settings import Settings
from ..workers.control_channel import pickled
from .forked import fork
from .given_upstream import Remark, settled
from .reload import checked_settings

_PIECE: Final = 1 << 20


class UsableSettings(NamedTuple):
    """Settings with which workers can run."""

    settings: Settings
    remarks: list[Remark]


class SettingsCheck:
    """A check that runs. Its pipe can be read when it has something to say; mistakes it says on stderr itself."""

    def __init__(self, check: Callable[[], UsableSettings | str], prepare: Callable[[], None] = lambda: None) -> None:
        """`check` runs in the other process, after `prepare`; it returns a message if the server cannot start."""
        self._data = b""
        self.pipe, writing = os.pipe()

        def work() -> int:
            prepare()
            os.close(self.pipe)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(pickled(check()))
            return 0

        try:
            self._pid = fork(work)
        except OSError:
            os.close(self.pipe)
            raise
        finally:
            os.close(writing)

    def read(self) -> bool:
        """Read what is there; whether that was all."""
        piece = os.read(self.pipe, _PIECE)
        self._data += piece
        return not piece

    def result(self) -> UsableSettings | str:
        """What was found, when all is read; a message if the server cannot start; empty if that was said already."""
        self._end()
        result: UsableSettings | str = pickle.loads(self._data) if self._data else ""  # noqa: S301 — this program wrote it
        return result

    def cancel(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._end()

    def _end(self) -> None:
        os.close(self.pipe)
        os.waitpid(self._pid, 0)


def first_check(settings: Settings) -> UsableSettings | str:
    """The settings of a server that starts."""
    found, remarks = asyncio.run(settled(settings))
    try:
        build_app(found)
    except CannotStartError as error:
        return f"am-proxy: {error}"
    return UsableSettings(found, remarks)


def next_check(settings: Settings, read: Callable[[], Settings]) -> UsableSettings | str:
    """The settings of a server that runs with others. Mistakes are logged."""
    checked = asyncio.run(checked_settings(settings, read, None))
    return "" if checked is None else UsableSettings(checked.settings, checked.remarks)
