"""How many small frames a websocket may bring: each costs as much as a long one, and no turn's slot covers it."""

import time
from collections.abc import Callable
from typing import Final

SMALL: Final = 1024
"""Bytes from which on a frame is covered by the limits of bytes."""
BURST: Final = 2000
"""Small frames that may come at once."""
RATE: Final = 200
"""Small frames a second that may come on and on."""


class FrameBudget:
    """The small frames, pings and pongs included, that one connection may still bring."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = float(BURST)
        self._seen = clock()

    def take(self, size: int) -> bool:
        """Whether one more frame of this size is within the budget."""
        if size >= SMALL:
            return True
        if self._left < 1:
            now = self._clock()
            self._left = min(BURST, (now - self._seen) * RATE)
            self._seen = now
        self._left -= 1
        return self._left >= 0
