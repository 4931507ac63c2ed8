"""Measures the delay of the event loop. During a delay this process reads no response of any server.

During a measurement a timer is set again and again, and the delay of each one is added up. Simultaneous
measurements share the timer.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
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

    def share(self) -> "DelayShare":
        """A measurement from now on, as a context."""
        return DelayShare(self)

    def begin(self) -> tuple[float, float]:
        """One more measurement: the time, and the sum of all delays until now."""
        self._measuring += 1
        if self._timer is None:
            self._set()
        return self.now()

    def now(self) -> tuple[float, float]:
        """The time, and the sum of all delays with that of the timer that is due."""
        now = self._loop.time()
        return now, self._sum + max(0.0, now - self._due)

    def end(self) -> None:
        """The end of a measurement."""
        self._measuring -= 1
        if not self._measuring and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self) -> None:
        self._due = self._loop.time() + TICK
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        _, self._sum = self.now()
        self._set()


class DelayShare:
    """`with delay.share() as share`: `share()` is the share of the time by which timers were late, from 0 to 1."""

    __slots__ = ("_began", "_delay", "_late_before")

    def __init__(self, delay: LoopDelay) -> None:
        self._delay = delay

    def __enter__(self) -> Callable[[], float]:
        self._began, self._late_before = self._delay.begin()
        return self._share

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._delay.end()

    def _share(self) -> float:
        now, late = self._delay.now()
        passed = now - self._began
        return (late - self._late_before) / passed if passed > 0 else 0.0


_delays: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopDelay]] = WeakKeyDictionary()


def loop_delay() -> LoopDelay:
    """The delays of the running event loop."""
    loop = asyncio.get_running_loop()
    delay = _delays.get(loop)
    if delay is None:
        delay = _delays[loop] = LoopDelay(loop)
    return delay
