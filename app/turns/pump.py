"""The loop of a turn: it reads payloads, yields batches of events, applies the time limits, and closes the upstream.

A separate task reads payloads from the upstream into a small queue (`payload_reader.py`). So a slow client slows the
upstream, a silent upstream does not delay keep-alives, and the upstream is closed however the turn ends.

Most payloads take a shorter way, on which no task is woken: the upstream hands them over where it has read them, and
their events are sent at once, if the client reads fast enough (`DirectClient`). The tasks do the rest: the first
payload, the last batch, time limits, slow clients, and long pieces of an answer.

How long an upstream may take for its first payload is measured where it is asked (`app/turns/attempts.py`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from ..emitter.rules import StopReason
from ..protocol.events import Event
from ..protocol.problems import Problem, ProblemError
from ..upstreams.clocks import Clocks
from .direct_client import DirectClient
from .failures import SILENT, our_fault, too_slow
from .payload_reader import PayloadReader
from .silences import Silences
from .turn_protocols import Answer, Opening, Sender, Turn
from .wakeup import Wakeup

log = logging.getLogger("am_proxy")


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
        client: Callable[[], DirectClient | None] = lambda: None,
        request_id: str,
        started_at: float | None = None,
    ) -> None:
        """`client` may be sent events directly, if there is one. `started_at`: when the turn began, if before now."""
        self._opening = opening
        self._sender: Sender = opening
        self._turn: Turn | None = None
        """What reads the answer, once there is one."""
        self._clocks = clocks
        self._client = client
        self._request_id = request_id
        self._loop = asyncio.get_running_loop()
        self._stop_reason: StopReason | None = None
        """Why the client ends the turn."""
        self._made_elsewhere: list[Callable[[int], Event]] = []
        """Makes the events that are to be sent next, each from its number."""
        self._wakeup = Wakeup(self._loop)
        self._is_sending = False
        """Whether `_send` is scheduled."""
        self._unsent: list[Event] = []
        """Events that were made, and are the first to be sent."""
        self._is_drawn = False
        """Whether `batches` has begun."""
        self._silences = Silences(self._loop.time, started_at)
        self.started_at: Final = self._silences.started_at
        self._reader = PayloadReader(answer, drawn=self._send_soon, taken=self._send, request_id=request_id)

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        self._wakeup.close()
        await self._reader.close()

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, unless all of the answer is there. What was read before is still sent."""
        if not self._reader.ended:
            self._reader.failure = problem
            self._reader.end()
            self._wakeup.wake()

    def stop(self, reason: StopReason) -> None:
        """Ends the turn because its client wants that, unless all of the answer is there."""
        if not self._reader.ended:
            self._stop_reason = reason
            self._reader.end()
            self._wakeup.wake()

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, before all that follow."""
        self._made_elsewhere.append(event)
        self._wakeup.wake()

    @property
    def is_ending(self) -> bool:
        """Whether all of the answer is there, or the turn is being ended."""
        return self._reader.ended or self._sender.over

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
        return self._sender.problem is problem or (self._turn is None and self._reader.failure is problem)

    async def open(self, patience: float) -> None:
        """Waits up to `patience` seconds for the first payload. Raises `ProblemError` if the turn is refused.

        With 0 it begins at once, and is not refused any more, also if the refusal is there already.
        """
        with suppress(TimeoutError):
            await self._wait(min(patience, self._clocks().turn))
        if self._reader.queue:
            self._unsent = [*self._begin(), *self._receive_first()]
            if self._sender.over and self._sender.problem:
                raise ProblemError(self._sender.problem)
        elif self._stop_reason is not None:
            self._unsent = [*self._opening.begin(), *self._end()]
        elif self._reader.ended and patience > 0:
            raise ProblemError(self._reader.failure or SILENT)
        elif patience >= (limit := self._clocks().turn):
            raise ProblemError(too_slow("did not answer", limit))
        else:
            self._unsent = self._opening.begin()

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Batches of events; the last batch holds the last event."""
        events, self._unsent = self._unsent, []
        if events:
            yield events
        self._is_drawn = True
        while not self._sender.over or self._unsent:
            try:
                await self._wait(self._patience())
                events = self._take()
            except TimeoutError:
                events = self._tick() if self._patience() <= 0 else []
            if events:
                self._silences.sent()
                yield events

    def _send_soon(self) -> None:
        """Sends all that the task draws in one step, or wakes the consumer for it."""
        if self._client() is None:
            self._wakeup.wake()
        elif not self._is_sending:
            self._is_sending = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        """Sends the events of what is in the queue, or wakes the consumer to do it."""
        self._is_sending = False
        if not self._wakeup.is_awaited:
            return
        client = self._client()
        if client is None or self._needs_consumer(client):
            self._wakeup.wake()
            return
        try:
            events = self._receive()
            if self._sender.over or (events and not client.send(events)):
                self._unsent = events
                self._wakeup.wake()
            elif events:
                self._silences.sent()
        except Exception as error:  # noqa: BLE001 — the consumer raises it
            self._wakeup.wake(error)

    def _needs_consumer(self, client: DirectClient) -> bool:
        if self._reader.ended or self._reader.answer or self._made_elsewhere:
            return True
        return not (client.is_ready and self._is_drawn)

    async def _wait(self, seconds: float) -> None:
        """Returns as soon as a payload or the end is there; raises `TimeoutError` after `seconds`."""
        if self._reader.queue or self._unsent or self._reader.ended or self._made_elsewhere:
            return
        await self._wakeup.wait(seconds)

    def _take(self) -> list[Event]:
        if self._unsent:
            events, self._unsent = self._unsent, []
            return events
        events = self._begin()
        made_elsewhere, self._made_elsewhere = self._made_elsewhere, []
        events += [make(self._sender.next_number()) for make in made_elsewhere]
        events += self._receive()
        if self._silences.is_received_too_late(self._clocks()) and not self._sender.over:
            return events + self._tick()
        if self._reader.ended and not self._sender.over and not self._reader.queue:
            events += self._end()
        return events

    def _begin(self) -> list[Event]:
        """The first events of the turn that reads the answer, if the answer has just arrived."""
        if self._reader.answer is None:
            return []
        answer, self._reader.answer = self._reader.answer, None
        self._sender = self._turn = answer.turn
        clocks = answer.clocks
        self._clocks = lambda: clocks
        return self._guarded(answer.turn.begin, self._opening.hand_over())

    def _receive_first(self) -> list[Event]:
        """The events for the first payload alone: it may be a refusal."""
        self._silences.received()
        assert self._turn is not None  # noqa: S101 — our own misuse: what was drawn is of an answer
        return self._guarded(self._turn.receive, self._reader.queue.pop(0))

    def _receive(self) -> list[Event]:
        """The events for all payloads in the queue."""
        events: list[Event] = []
        payloads, turn = self._reader.take_all(), self._turn
        if not payloads or turn is None:
            return events
        self._silences.received()
        try:
            for payload in payloads:
                if not turn.over:
                    events += turn.receive(payload)
        except Exception as error:  # noqa: BLE001 — logged there
            events += self._broken(error)
        return events

    def _end(self) -> list[Event]:
        """The last events, after the last payload in the queue."""
        if self._stop_reason is not None:
            return self._guarded(self._sender.stop, self._stop_reason)
        if self._reader.failure is not None or self._turn is None:
            return self._sender.fail(self._reader.failure or SILENT)
        return self._guarded(self._turn.end)

    def _guarded(self, step: Callable[..., list[Event]], *arguments: Any) -> list[Event]:
        """The events that this method of the turn returns. If it raises, the turn fails by our fault."""
        try:
            return step(*arguments)
        except Exception as error:  # noqa: BLE001 — logged there
            return self._broken(error)

    def _broken(self, error: Exception) -> list[Event]:
        """The last events after an error of our own."""
        log.error("a turn could not go on", exc_info=error, extra={"request_id": self._request_id})
        return [] if self._sender.over else self._sender.fail(our_fault(self._request_id))

    def _patience(self) -> float:
        """Seconds until the next time limit."""
        return self._silences.left(self._clocks())

    def _tick(self) -> list[Event]:
        problem = self._silences.problem(self._clocks())
        return self._guarded(self._sender.keep_alive) if problem is None else self._sender.fail(problem)
