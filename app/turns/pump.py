"""The only loop: payloads into the turn, batches of events out. Owns and closes what it opens; clocks live here.

A task of its own draws payloads from the upstream into a small queue, so that a slow client slows the upstream, a
silent upstream does not keep the client from hearing signs of life, and whatever ends the turn closes the upstream.

How long an upstream may take for its first payload is measured where it is asked (`app/turns/attempts.py`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, Protocol

from app.protocol.events import Event
from app.protocol.problems import Problem, ProblemError
from app.protocol.warnings import ClientWarning
from app.upstreams.clocks import Clocks
from app.upstreams.port import UpstreamBroke, UpstreamRefused

log = logging.getLogger("am_proxy")

QUEUE: Final = 64
"""Payloads drawn ahead of the client."""

SILENT: Final = Problem(code="upstream_error", message="The model's server closed the connection without an answer.")


class Turn(Protocol):
    """What the pump drives, in any dialect."""

    @property
    def ask(self) -> Any:
        """What the upstream is asked."""
        ...

    @property
    def warnings(self) -> Sequence[ClientWarning]:
        """What the caller must know of what was not asked."""
        ...

    @property
    def late_warnings(self) -> Sequence[ClientWarning]:
        """What the caller must know of what was answered and could not be told. Complete when the turn is over."""
        ...

    @property
    def over(self) -> bool:
        """Whether the last event has been given."""
        ...

    @property
    def problem(self) -> Problem | None:
        """Why it failed."""
        ...

    @property
    def notes(self) -> dict[str, Any]:
        """What the log should say of it beyond what the client is told."""
        ...

    def begin(self) -> list[Event]:
        """The first events."""
        ...

    def receive(self, payload: Any) -> list[Event]:
        """What the client is told of one payload."""
        ...

    def keep_alive(self) -> list[Event]:
        """A sign of life."""
        ...

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        ...

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        ...


class Payloads(Protocol):
    """What the pump draws from: an async generator, or what can stand for one."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """Payloads."""
        ...

    async def aclose(self) -> None:
        """Stops asking."""
        ...


class Pump:
    """Runs one turn: `open`, then `batches` to the end. Whoever makes one closes it, whatever happens.

    `again` says, when the upstream has ended, what the client is told if `payloads` go on after all.
    """

    def __init__(
        self,
        turn: Turn,
        payloads: Payloads,
        *,
        clocks: Clocks,
        request_id: str,
        again: Callable[[], Awaitable[list[Event] | None]] | None = None,
    ) -> None:
        self._turn = turn
        self._upstream = payloads
        self.clocks = clocks
        """Those of the upstream that is asked now."""
        self._request_id = request_id
        self._again = again
        self._loop = asyncio.get_running_loop()
        self._drawn: list[Any] = []
        self._ended = False
        self._trouble: Problem | None = None
        self._interrupted: Problem | None = None
        """Why the turn was told to end, if its upstream's answer was there already."""
        self._news: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._room: asyncio.Future[None] | None = None
        self._opening: list[Event] = []
        self._started = self._heard = self._told = self._loop.time()
        self._spoke = False
        self._drawer = asyncio.create_task(self._draw())

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        if self._alarm is not None:
            self._alarm.cancel()
        if not self._drawer.done():
            self._drawer.cancel()
            await asyncio.wait({self._drawer})  # awaiting the task itself would hide a cancellation of our caller

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, as if the upstream had broken off. What was drawn before is still told."""
        if self._ended:
            self._interrupted = problem  # the turn ends by itself, unless it would ask once more
            return
        self._trouble = problem
        self._ended = True
        self._drawer.cancel()
        self._tell()

    async def open(self, patience: float) -> None:
        """Waits for the upstream's first payload, at most `patience`; raises `ProblemError` if it refuses till then."""
        with suppress(TimeoutError):
            await self._wait(min(patience, self.clocks.turn))
        if not self._drawn and self._ended:
            raise ProblemError(self._trouble or SILENT)
        self._opening = self._turn.begin()
        if self._drawn:
            self._opening += self._receive(self._drawn.pop(0))
            if self._turn.over and self._turn.problem:
                raise ProblemError(self._turn.problem)
        elif patience >= self.clocks.turn:
            raise ProblemError(too_slow("did not answer", self.clocks.turn))
        elif not self._opening:  # a relay leaves the first word to its upstream, as long as the client can wait
            self._opening = self._turn.keep_alive()

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Events, in batches to be sent as they are; the last batch holds the last event."""
        events, self._opening = self._opening, []
        yield events
        while not self._turn.over:
            try:
                await self._wait(self._patience())
                events = await self._take()
            except TimeoutError:
                events = self._tick() if self._patience() <= 0 else []
            if events:
                self._told = self._loop.time()
                yield events

    async def _draw(self) -> None:
        try:
            async with aclosing(self._upstream) as payloads:
                async for payload in payloads:
                    self._drawn.append(payload)
                    del payload  # it does not wait here for the next one
                    self._tell()
                    if len(self._drawn) >= QUEUE:
                        self._room = self._loop.create_future()
                        await self._room
        except (UpstreamRefused, UpstreamBroke) as error:
            self._trouble = error.problem
        except Exception:
            log.exception("the upstream failed unexpectedly", extra={"request_id": self._request_id})
            self._trouble = self._our_fault()
        finally:
            self._ended = True
            self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _wait(self, seconds: float) -> None:
        """Returns as soon as there is something to take; raises `TimeoutError` if nothing comes."""
        if self._drawn or self._ended:
            return
        self._news = self._loop.create_future()
        self._set_alarm(self._loop.time() + max(seconds, 0))
        await self._news

    def _set_alarm(self, due: float) -> None:
        """One alarm for many waits: a payload moves what is due further away, and moving the alarm costs more than it.

        It may strike too early, then, and whoever waited must look at the clock; too late it never is.
        """
        if self._alarm is not None:
            if self._alarm.when() <= due:
                return
            self._alarm.cancel()
        self._alarm = self._loop.call_at(due, self._strike)

    def _strike(self) -> None:
        self._alarm = None
        if self._news is not None and not self._news.done():
            self._news.set_exception(TimeoutError())

    async def _take(self) -> list[Event]:
        events: list[Event] = []
        drawn, self._drawn = self._drawn, []
        for payload in drawn:
            if not self._turn.over:
                events += self._receive(payload)
        if not self._turn.over and self._heard >= self._started + self.clocks.turn:  # it never paused for breath
            return events + self._tick()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if self._ended and not self._turn.over and not self._drawn:
            events += await self._end() if self._trouble is None else self._turn.fail(self._trouble)
        return events

    async def _end(self) -> list[Event]:
        """The upstream's answer is over, and the turn as well, unless there is more to ask."""
        try:
            more = None if self._again is None else await self._again()
        except Exception as error:  # noqa: BLE001 — it is logged
            return self._broken(error)
        if more is None:
            return self._guarded(self._turn.end)
        if self._turn.over:
            return more
        if self._interrupted is not None:
            return more + self._turn.fail(self._interrupted)
        self._ended = self._spoke = False
        self._drawer = asyncio.create_task(self._draw())
        return more

    def _receive(self, payload: Any) -> list[Event]:
        self._heard = self._loop.time()
        self._spoke = True
        return self._guarded(self._turn.receive, payload)

    def _guarded(self, step: Callable[..., list[Event]], *given: Any) -> list[Event]:
        """What a step of the turn tells. One that raises is our fault, and the turn's last step."""
        try:
            return step(*given)
        except Exception as error:  # noqa: BLE001 — it is logged
            return self._broken(error)

    def _broken(self, error: Exception) -> list[Event]:
        """The turn's last events after an error of ours."""
        log.error("a turn could not go on", exc_info=error, extra={"request_id": self._request_id})
        return [] if self._turn.over else self._turn.fail(self._our_fault())

    def _patience(self) -> float:
        """Seconds until the next clock strikes."""
        strikes = min(self._told + self.clocks.keep_alive, self._started + self.clocks.turn)
        if self._spoke:
            strikes = min(strikes, self._heard + self.clocks.idle)
        return strikes - self._loop.time()

    def _tick(self) -> list[Event]:
        now = self._loop.time()
        if now >= self._started + self.clocks.turn:
            how = "was still answering" if self._spoke else "did not answer"
            return self._turn.fail(too_slow(how, self.clocks.turn))
        if self._spoke and now >= self._heard + self.clocks.idle:
            return self._turn.fail(too_slow("stopped talking", self.clocks.idle))
        return self._guarded(self._turn.keep_alive)

    def _our_fault(self) -> Problem:
        return Problem(code="internal_error", message=f"AM Proxy failed; its log says more under {self._request_id}.")


def too_slow(what: str, seconds: float) -> Problem:
    """The problem of an upstream that took longer than it was given."""
    return Problem(code="upstream_timeout", message=f"The model's server {what}: it was given {seconds:g} seconds.")
