"""The loop of a turn: it reads payloads, gives batches of events, keeps the time limits, and closes what it opens.

A task of its own draws payloads from the upstream into a small queue, so that a slow client slows the upstream, a
silent upstream does not delay keep-alives, and whatever ends the turn closes the upstream.

How long an upstream may take for its first payload is measured where it is asked (`app/turns/attempts.py`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final

from app.protocol.events import Event
from app.protocol.problems import Problem, ProblemError
from app.turns.turn_protocols import Answer, Opening, Sender, Turn
from app.upstreams.clocks import Clocks
from app.upstreams.port import UpstreamBroke, UpstreamRefused

log = logging.getLogger("am_proxy")

QUEUE: Final = 64
"""Payloads drawn ahead of the client."""

SILENT: Final = Problem(code="upstream_error", message="The model's server closed the connection without an answer.")


class Pump:
    """Runs one turn: `open`, then `batches` to the end. Whoever makes one closes it, whatever happens.

    `answer` waits for the beginning of an answer; it raises `UpstreamRefused` or `ProblemError` where there is none.
    Until then `opening` makes the events, and `clocks` are those of the upstream that is asked.
    """

    def __init__(
        self,
        opening: Opening,
        answer: Callable[[], Awaitable[Answer]],
        *,
        clocks: Callable[[], Clocks],
        request_id: str,
    ) -> None:
        self._opening = opening
        self._sender: Sender = opening
        self._turn: Turn | None = None
        """What reads the answer, once there is one."""
        self._answer: Answer | None = None
        """The answer, until the first of its payloads is read."""
        self._clocks = clocks
        self._request_id = request_id
        self._loop = asyncio.get_running_loop()
        self._drawn: list[Any] = []
        self._ended = False
        self._trouble: Problem | None = None
        self._news: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._room: asyncio.Future[None] | None = None
        self._first_batch: list[Event] = []
        self._started = self._heard = self._sent = self._loop.time()
        self._spoke = False
        self._drawer = asyncio.create_task(self._draw(answer))

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        if self._alarm is not None:
            self._alarm.cancel()
        if not self._drawer.done():
            self._drawer.cancel()
            await asyncio.wait({self._drawer})  # awaiting the task itself would hide a cancellation of our caller

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, unless all of the answer is there. What was drawn before is still sent."""
        if self._ended:
            return
        self._trouble = problem
        self._ended = True
        self._drawer.cancel()
        self._notify()

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        return self._sender.problem

    def ended_with(self, problem: Problem) -> bool:
        """Whether this is why the turn failed, or was refused."""
        return self._sender.problem is problem or (self._turn is None and self._trouble is problem)

    async def open(self, patience: float) -> None:
        """Waits for the upstream's first payload, at most `patience`; raises `ProblemError` if it refuses till then."""
        with suppress(TimeoutError):
            await self._wait(min(patience, self._clocks().turn))
        if self._drawn:
            self._first_batch = [*self._begin(), *self._receive(self._drawn.pop(0))]
            if self._sender.over and self._sender.problem:
                raise ProblemError(self._sender.problem)
        elif self._ended:
            raise ProblemError(self._trouble or SILENT)
        elif patience >= (limit := self._clocks().turn):
            raise ProblemError(too_slow("did not answer", limit))
        else:
            self._first_batch = self._opening.begin()

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Events, in batches to be sent as they are; the last batch holds the last event."""
        events, self._first_batch = self._first_batch, []
        if events:
            yield events
        while not self._sender.over:
            try:
                await self._wait(self._patience())
                events = self._take()
            except TimeoutError:
                events = self._tick() if self._patience() <= 0 else []
            if events:
                self._sent = self._loop.time()
                yield events

    async def _draw(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        try:
            answer = await ask()
            del ask  # it holds the request
            self._answer = answer._replace(payload=None)
            self._drawn.append(answer.payload)
            self._notify()
            source = answer.payloads
            del answer
            async with aclosing(source) as payloads:
                async for payload in payloads:
                    self._drawn.append(payload)
                    del payload  # it does not wait here for the next one
                    self._notify()
                    if len(self._drawn) >= QUEUE:
                        self._room = self._loop.create_future()
                        await self._room
        except (UpstreamRefused, UpstreamBroke, ProblemError) as error:
            self._trouble = error.problem
        except Exception:
            log.exception("the upstream failed unexpectedly", extra={"request_id": self._request_id})
            self._trouble = our_fault(self._request_id)
        finally:
            self._ended = True
            self._notify()

    def _notify(self) -> None:
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

    def _take(self) -> list[Event]:
        events = self._begin()
        drawn, self._drawn = self._drawn, []
        for payload in drawn:
            if not self._sender.over:
                events += self._receive(payload)
        if not self._sender.over and self._heard >= self._started + self._clocks().turn:  # payloads kept coming
            return events + self._tick()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if self._ended and not self._sender.over and not self._drawn:
            events += self._end()
        return events

    def _begin(self) -> list[Event]:
        """The first events of the turn that reads the answer, if it has just come."""
        if self._answer is None:
            return []
        answer, self._answer = self._answer, None
        self._sender = self._turn = answer.turn
        self._clocks = partial(_same, answer.clocks)
        return self._guarded(answer.turn.begin, self._opening.hand_over())

    def _receive(self, payload: Any) -> list[Event]:
        assert self._turn is not None  # noqa: S101 — our own misuse: what was drawn is of an answer
        self._heard = self._loop.time()
        self._spoke = True
        return self._guarded(self._turn.receive, payload)

    def _end(self) -> list[Event]:
        """The last events, when all that was drawn has been read."""
        if self._trouble is not None or self._turn is None:
            return self._sender.fail(self._trouble or SILENT)
        return self._guarded(self._turn.end)

    def _guarded(self, step: Callable[..., list[Event]], *given: Any) -> list[Event]:
        """The events of a step of the turn. A step that raises is our fault, and the turn's last step."""
        try:
            return step(*given)
        except Exception:
            log.exception("a turn could not go on", extra={"request_id": self._request_id})
            return [] if self._sender.over else self._sender.fail(our_fault(self._request_id))

    def _patience(self) -> float:
        """Seconds until the next time limit."""
        clocks = self._clocks()
        due = min(self._sent + clocks.keep_alive, self._started + clocks.turn)
        if self._spoke:
            due = min(due, self._heard + clocks.idle)
        return due - self._loop.time()

    def _tick(self) -> list[Event]:
        now, clocks = self._loop.time(), self._clocks()
        if now >= self._started + clocks.turn:
            how = "was still answering" if self._spoke else "did not answer"
            return self._sender.fail(too_slow(how, clocks.turn))
        if self._spoke and now >= self._heard + clocks.idle:
            return self._sender.fail(too_slow("stopped talking", clocks.idle))
        return self._guarded(self._sender.keep_alive)


def _same(clocks: Clocks) -> Clocks:
    return clocks


def our_fault(request_id: str) -> Problem:
    """The problem of a turn that fails by an error of this server."""
    return Problem(code="internal_error", message=f"AM Proxy failed; its log says more under {request_id}.")


def too_slow(what: str, seconds: float) -> Problem:
    """The problem of an upstream that took longer than it was given."""
    return Problem(code="upstream_timeout", message=f"The model's server {what}: it was given {seconds:g} seconds.")
