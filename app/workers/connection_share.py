"""Shares new connections among workers: the one with the fewest open connections takes the next.

All workers wait at one listening socket, and the system wakes all of them for a connection. Without this, the one that
happens to be first would take whole bursts, and streams last long. A worker that has more connections than another one
leaves a new one to that one, for a moment: if nobody takes it, because the others are busy, it does.
"""

import time
from collections.abc import Callable
from typing import Final

from .worker_table import WorkerTable

PAUSE: Final = 0.002
"""Seconds for which a worker leaves new connections to the others."""
MOST_PAUSES: Final = 8
"""Such pauses in a row. Then it takes one connection, and one more after each further pause."""
SILENT: Final = 1.0
"""Seconds after which a worker that shows no sign of life does not count."""
BEAT: Final = 0.25
"""Seconds between two signs of life."""


class ConnectionShare:
    """The connections of one worker compared with those of the others."""

    def __init__(self, table: WorkerTable, number: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._row = table.row(number)
        self._others = [row for row in table if row is not self._row]
        self._clock = clock
        self._open = 0
        self._pauses = 0
        self._paused: float = 0
        """When the last pause began."""

    def changed(self, number: int) -> None:
        """So many connections are open."""
        self._open = self._row.connections = number

    def pause(self, opening: int) -> float:
        """How many seconds to leave new connections to the others; 0: take the next one.

        `opening` are connections that were accepted, and are not among the open ones yet.
        """
        mine = self._row.connections = self._open + opening
        now = self._clock()
        if all(row.connections >= mine or now - row.seen > SILENT for row in self._others):
            return 0
        if now - self._paused > 3 * PAUSE:  # that was about other connections
            self._pauses = 0
        self._paused = now
        if self._pauses >= MOST_PAUSES:
            self._pauses = MOST_PAUSES - 1
            return 0
        self._pauses += 1
        return PAUSE
