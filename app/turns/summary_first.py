"""A turn of two steps: a summary, and the answer. Each step has its own pump."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from ..catalogue import Route
from ..compaction.summary_turn import SummaryTurn
from ..emitter.rules import StopReason
from ..new_turns import AnyTurn
from ..off_loop import off_loop
from ..protocol.events import Event
from ..protocol.problems import Problem
from .asks import Asks
from .failures import our_fault
from .pump import Pump
from .warning_output import not_told

log = logging.getLogger("am_proxy")


class SummaryFirst:
    """Runs a turn that may begin with a summary. It has the methods of a pump.

    `following` makes the pump of the step that follows a summary, and continues its events.
    """

    def __init__(
        self,
        pump: Pump,
        asks: Asks,
        following: Callable[[SummaryTurn], Pump],
        *,
        note: Callable[..., None],
        request_id: str,
    ) -> None:
        self._pump = pump
        self.started_at: Final = pump.started_at
        """When the turn began."""
        self._asks = asks
        self._following = following
        self._note = note
        self._request_id = request_id
        self._is_last_step = False
        self._interrupted: Problem | None = None
        self._stop_reason: StopReason | None = None

    @property
    def problem(self) -> Problem | None:
        """Why the turn failed."""
        return self._pump.problem

    def ended_with(self, problem: Problem) -> bool:
        """Whether this is why the turn failed, or was refused."""
        return self._pump.ended_with(problem)

    async def open(self, patience: float) -> None:
        """Waits for the first payload of the first step, as `Pump.open` does."""
        await self._pump.open(patience)

    async def batches(self) -> AsyncGenerator[list[Event]]:
        """Events of both steps; the last batch holds the last event."""
        async with aclosing(self._pump.batches()) as batches:
            async for batch in batches:
                yield batch
        if self._pump.has_begun and isinstance(turn := self._asks.turn, SummaryTurn):
            self._note(**turn.notes)
            if events := await self._finished(turn):
                yield events
            if turn.emitter.over:
                return
            await self._pump.close()
            self._pump, self._is_last_step = self._following(turn), True
            if self._interrupted is not None:
                self._pump.interrupt(self._interrupted)
            if self._stop_reason is not None:
                self._pump.stop(self._stop_reason)
            async with aclosing(self._pump.batches()) as batches:
                async for batch in batches:
                    yield batch

    def interrupt(self, problem: Problem) -> None:
        """Ends the turn with this problem, unless the answer is complete. A second step does not begin."""
        self._interrupted = problem
        self._pump.interrupt(problem)

    def stop(self, reason: StopReason) -> None:
        """Ends the turn because its client wants that. A second step does not begin."""
        self._stop_reason = reason
        self._pump.stop(reason)

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, as `Pump.insert` does."""
        self._pump.insert(event)

    @property
    def is_ending(self) -> bool:
        """Whether it is being ended, or the last step is over."""
        return self._stop_reason is not None or (self._pump.is_ending and self._is_last_step)

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        await self._pump.close()

    async def _finished(self, turn: SummaryTurn) -> list[Event]:
        try:
            return await off_loop(turn.size, turn.finish)
        except Exception:
            log.exception("a turn could not go on", extra={"request_id": self._request_id})
            return [] if turn.emitter.over else turn.emitter.fail(our_fault(self._request_id))


def with_warnings_of(
    summary: SummaryTurn, following: AnyTurn, begin: Callable[[Route], Awaitable[AnyTurn]]
) -> Callable[[Route], Awaitable[AnyTurn]]:
    """Gives the turn after a summary the warnings of that, and makes other such turns for the same request.

    What a turn warns of first was said of the summary, too, with other positions of the items.
    """
    own, told = following.warnings, (*summary.warnings, *summary.late_warnings)
    following.warnings = told

    async def again(route: Route) -> AnyTurn:
        other = await begin(route)
        other.warnings = (*told, *not_told(other.warnings, own))
        return other

    return again
