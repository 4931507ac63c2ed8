"""The loop of a turn: it reads payloads, yields batches of events, applies the time limits, and closes the upstream.

A separate task reads payloads from the upstream into a small queue. So a slow client slows the upstream, a silent
upstream does not delay keep-alives, and the upstream is closed however the turn ends.

How long an upstream may take for its first payload is measured where it is asked (`app/turns/attempts.py`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from ..emitter.rules import StopReason
from ..fair_rounds import steps_of
from ..off_loop import OWNER
from ..protocol.events import Event
from ..protocol.problems import Problem, ProblemError
from ..upstreams.clocks import Clocks
from ..upstreams.port import UpstreamBroke, UpstreamRefused
from .failures import SILENT, our_fault, too_slow
from .turn_protocols import Answer, Opening, Sender, Turn

log = logging.getLogger("am_proxy")

QUEUE: Final = 64
"""Payloads in the queue, at most."""
STEP: Final = 4
"""Payloads that count as one more of the caller's steps in a round of the event loop."""


class Pump:
    """Runs one turn: `open`, then `batches` to the end. The code that makes a pump must close it.

    `answer` waits for the beginning of an answer; it raises `UpstreamRefused` or `ProblemError` if there is none.
    Until then `opening` makes the events, and `clocks` are those of the upstream that is asked.
    """

    def __init__(
        self,
        opening: Opening,
        answer: Callable[[], Awaitable[Answer]],
        *,
        clocks: Callable[[], Clocks],
        request_id: str,
        started_at: float | None = None,
    ) -> None:
        """`started_at`: when the turn began, if this is not its first pump."""
        self._opening = opening
        self._sender: Sender = opening
        self._turn: Turn | None = None
        """What reads the answer, once there is one."""
        self._answer: Answer | None = None
        """The answer, until the first of its payloads is read."""
        self._clocks = clocks
        self._request_id = request_id
        self._loop = asyncio.get_running_loop()
        self._queue: list[Any] = []
        self._ended = False
        self._failure: Problem | None = None
        self._stop_reason: StopReason | None = None
        """Why the client ends the turn."""
        self._is_steered = False
        """Whether the turn is yet to be told that it is steered."""
        self._made_elsewhere: list[Callable[[int], Event]] = []
        """Makes the events that are to be sent next, each from its number."""
        self._arrival: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._queue_room: asyncio.Future[None] | None = None
        self._first_batch: list[Event] = []
        self._received_at = self._sent_at = self._loop.time()
        self.started_at: Final = self._sent_at if started_at is None else started_at
        self._received_any = False
        self._reader = asyncio.create_task(self._read_upstream(answer))

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._reader.done():
            self._reader.cancel()
            await asyncio.wait({self._reader})  # awaiting the task itself would hide a cancellation of our caller

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, unless all of the answer is there. What was read before is still sent."""
        if self._ended:
            return
        self._failure = problem
        self._ended = True
        self._reader.cancel()
        self._notify()

    def stop(self, reason: StopReason) -> None:
        """Ends the turn because its client wants that, unless all of the answer is there."""
        if not self._ended:
            self._stop_reason = reason
            self._ended = True
            self._reader.cancel()
            self._notify()

    def stop_at_boundary(self) -> None:
        """Ends the turn as steered, as soon as no item is open. It may also end in another way."""
        self._is_steered = True
        self._notify()

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, before all that follow."""
        self._made_elsewhere.append(event)
        self._notify()

    @property
    def is_ending(self) -> bool:
        """Whether all of the answer is there, or the turn is being ended."""
        return self._ended or self._sender.over

    @property
    def has_begun(self) -> bool:
        """Whether a turn reads the answer. Otherwise `opening` has made all events, the last one included."""
        return self._turn is not None

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        return self._sender.problem

    def ended_with(self, problem: Problem) -> bool:
        """Whether this is why the turn failed, or was refused."""
        return self._sender.problem is problem or (self._turn is None and self._failure is problem)

    async def open(self, patience: float) -> None:
        """Waits up to `patience` seconds for the first payload. Raises `ProblemError` if the turn is refused.

        With 0 it begins at once, and is not refused any more, also if the refusal is there already.
        """
        with suppress(TimeoutError):
            await self._wait(min(patience, self._clocks().turn))
        if self._queue:
            self._first_batch = [*self._begin(), *self._receive(self._queue.pop(0))]
            if self._sender.over and self._sender.problem:
                raise ProblemError(self._sender.problem)
        elif self._stop_reason is not None:
            self._first_batch = [*self._opening.begin(), *self._end()]
        elif self._ended and patience > 0:
            raise ProblemError(self._failure or SILENT)
        elif patience >= (limit := self._clocks().turn):
            raise ProblemError(too_slow("did not answer", limit))
        else:
            self._first_batch = self._opening.begin()

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Batches of events; the last batch holds the last event."""
        events, self._first_batch = self._first_batch, []
        if events:
            yield events
        with steps_of(OWNER.get()) as steps:
            while not self._sender.over:
                try:
                    await self._wait(self._patience())
                    if steps.must_wait(number := 1 + len(self._queue) // STEP):
                        await steps.wait(number)
                    events = self._take()
                except TimeoutError:
                    events = self._tick() if self._patience() <= 0 else []
                if events:
                    self._sent_at = self._loop.time()
                    yield events

    async def _read_upstream(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        try:
            answer = await ask()
            del ask  # it holds the request
            self._answer = answer._replace(payload=None)
            self._queue.append(answer.payload)
            self._notify()
            source = answer.payloads
            del answer
            async with aclosing(source) as payloads:
                async for payload in payloads:
                    self._queue.append(payload)
                    del payload  # do not hold it while waiting for the next one
                    self._notify()
                    if len(self._queue) >= QUEUE:
                        self._queue_room = self._loop.create_future()
                        await self._queue_room
        except (UpstreamRefused, UpstreamBroke, ProblemError) as error:
            self._failure = error.problem
        except Exception:
            log.exception("the upstream failed unexpectedly", extra={"request_id": self._request_id})
            self._failure = our_fault(self._request_id)
        finally:
            self._ended = True
            self._notify()

    def _notify(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def _wait(self, seconds: float) -> None:
        """Returns as soon as a payload or the end is there; raises `TimeoutError` after `seconds`."""
        if self._queue or self._ended or self._made_elsewhere or self._is_steered:
            return
        self._arrival = self._loop.create_future()
        self._set_timer(self._loop.time() + max(seconds, 0))
        await self._arrival

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
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_exception(TimeoutError())

    def _take(self) -> list[Event]:
        events = self._begin()
        made_elsewhere, self._made_elsewhere = self._made_elsewhere, []
        events += [make(self._sender.next_number()) for make in made_elsewhere]
        if self._is_steered and not self._sender.over:
            events += self._steered()
        payloads, self._queue = self._queue, []
        for payload in payloads:
            if not self._sender.over:
                events += self._receive(payload)
        out_of_time = self._received_at >= self.started_at + self._clocks().turn
        if out_of_time and not self._sender.over:
            return events + self._tick()
        if self._queue_room is not None and not self._queue_room.done():
            self._queue_room.set_result(None)
        if self._ended and not self._sender.over and not self._queue:
            events += self._end()
        return events

    def _steered(self) -> list[Event]:
        self._is_steered = False
        if self._turn is not None:
            return self._guarded(self._turn.stop_at_boundary)
        if self._ended:
            return []
        self._ended = True
        self._reader.cancel()
        return self._guarded(self._sender.stop, "steered")

    def _begin(self) -> list[Event]:
        """The first events of the turn that reads the answer, if the answer has just arrived."""
        if self._answer is None:
            return []
        answer, self._answer = self._answer, None
        self._sender = self._turn = answer.turn
        clocks = answer.clocks
        self._clocks = lambda: clocks
        return self._guarded(answer.turn.begin, self._opening.hand_over())

    def _receive(self, payload: Any) -> list[Event]:
        assert self._turn is not None  # noqa: S101 — our own misuse: what was drawn is of an answer
        self._received_at = self._loop.time()
        self._received_any = True
        return self._guarded(self._turn.receive, payload)

    def _end(self) -> list[Event]:
        """The last events, after the last payload in the queue."""
        if self._stop_reason is not None:
            return self._guarded(self._sender.stop, self._stop_reason)
        if self._failure is not None or self._turn is None:
            return self._sender.fail(self._failure or SILENT)
        return self._guarded(self._turn.end)

    def _guarded(self, step: Callable[..., list[Event]], *arguments: Any) -> list[Event]:
        """The events that this method of the turn returns. If it raises, the turn fails by our fault."""
        try:
            return step(*arguments)
        except Exception:
            log.exception("a turn could not go on", extra={"request_id": self._request_id})
            return [] if self._sender.over else self._sender.fail(our_fault(self._request_id))

    def _patience(self) -> float:
        """Seconds until the next time limit."""
        clocks = self._clocks()
        due = min(self._sent_at + clocks.keep_alive, self.started_at + clocks.turn)
        if self._received_any:
            due = min(due, self._received_at + clocks.idle)
        return due - self._loop.time()

    def _tick(self) -> list[Event]:
        now, clocks = self._loop.time(), self._clocks()
        if now >= self.started_at + clocks.turn:
            how = "was still answering" if self._received_any else "did not answer"
            return self._sender.fail(too_slow(how, clocks.turn))
        if self._received_any and now >= self._received_at + clocks.idle:
            return self._sender.fail(too_slow("stopped talking", clocks.idle))
        return self._guarded(self._sender.keep_alive)
