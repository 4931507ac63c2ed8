"""Waits until something arrives, or until a time limit."""

import asyncio


class Wakeup:
    """What one consumer waits for. It costs one timer, however often it is awaited."""

    __slots__ = ("_loop", "_timer", "_waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the consumer waits, and has not been woken."""
        return self._waiter is not None and not self._waiter.done()

    async def wait(self, seconds: float) -> None:
        """Returns after `wake`; raises `TimeoutError` after `seconds` at the latest, but perhaps earlier."""
        self._waiter = self._loop.create_future()
        self._set_timer(self._loop.time() + max(seconds, 0))
        await self._waiter

    def wake(self, error: Exception | None = None) -> None:
        """Wakes the consumer, if it waits; it raises this error."""
        if self._waiter is None or self._waiter.done():
            return
        if error is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(error)

    def close(self) -> None:
        """Drops the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, due: float) -> None:
        """Sets the timer, unless it runs out before `due` already: each payload moves `due`, and a new timer is costly.

        So the timer may run out too early, never too late: after it the time must be compared.
        """
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._time_out)

    def _time_out(self) -> None:
        self._timer = None
        self.wake(TimeoutError())
