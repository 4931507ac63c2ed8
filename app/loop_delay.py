"""Measures the delay of the event loop. During a delay this process reads no response of any server.

During a measurement a timer is set again and again, and the delay of each one is added up. Simultaneous
measurements share the timer.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

TICK: Final = 0.05
"""Seconds from one timer to the next."""


class LoopDelay:
    """The delays of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._measuring = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._sum = 0.0

    @contextmanager
    def share(self) -> Iterator[Callable[[], float]]:
        """Yields a function: the share of the time since the start by which timers were late, from 0 to 1."""
        self._measuring += 1
        if self._timer is None:
            self._set()
        began, late_before = self._loop.time(), self._late()

        def share() -> float:
            passed = self._loop.time() - began
            return (self._late() - late_before) / passed if passed > 0 else 0.0

        try:
            yield share
        finally:
            self._measuring -= 1
            if not self._measuring and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _late(self) -> float:
        """The sum of all delays, with that of the timer that is due."""
        return self._sum + max(0.0, self._loop.time() - self._due)

    def _set(self) -> None:
        self._due = self._loop.time() + TICK
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self._sum = self._late()
        self._set()


_delays: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopDelay]] = WeakKeyDictionary()


def loop_delay() -> LoopDelay:
    """The delays of the running event loop."""
    loop = asyncio.get_running_loop()
    delay = _delays.get(loop)
    if delay is None:
        delay = _delays[loop] = LoopDelay(loop)
    return delay
