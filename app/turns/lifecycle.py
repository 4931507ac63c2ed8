"""The lifecycle of one turn, for every transport: it is admitted, closed and logged here.

Theory of operation
-------------------
Every turn runs in a block `async with service.turn(...) as turn`. After the block, the upstream is closed, the slot is
given back, and the log line is written, in this order. The end of the block is the end of the turn:

    `ProblemError`      refused, with the problem's status; the code that opened the block sends it to the client.
                        After a last event that failed: failed, with this status
    `ClientGoneError`   the client left
    any other error     failed, by a fault of this server
    no error            as in the last event; without a last event, the client left

The slot is given back earlier, with the last event: the client may ask again at once. No other file gives back slots
or writes log lines of turns.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Self

from ..emitter.rules import StopReason
from ..protocol.events import Event, LastEvent, RelayedLast
from ..protocol.problems import Problem, ProblemError
from ..protocol.warnings import ClientWarning
from ..settings import Key
from .asks import Asks
from .direct_client import DirectClient
from .limits import LEAVING, Limits, Slot
from .log import TurnLog
from .pump import Pump
from .summary_first import SummaryFirst


class ClientGoneError(Exception):
    """The client has disconnected, and cannot be answered."""


class RunningTurn:
    """A turn whose upstream has been asked."""

    __slots__ = ("_asks", "_pump", "clocks", "size")

    def __init__(self, asks: Asks, pump: Pump | SummaryFirst, size: int) -> None:
        self._asks = asks
        self._pump = pump
        self.clocks = asks.clocks
        """The time limits of the first upstream."""
        self.size = size
        """Bytes of the request."""

    @property
    def warnings(self) -> Sequence[ClientWarning]:
        """The warnings of the ask that was sent last."""
        return self._asks.turn.warnings

    @property
    def late_warnings(self) -> Sequence[ClientWarning]:
        """The warnings of the answer, once it is complete."""
        return self._asks.turn.late_warnings

    @property
    def problem(self) -> Problem | None:
        """Why it failed."""
        return self._pump.problem

    @property
    def cut_short(self) -> bool:
        """Whether it failed because this server is being stopped."""
        return self._pump.ended_with(LEAVING)

    def report(self, problem: Problem | None) -> None:
        """Records it in the log of upstreams if the turn failed, or was refused with this problem, by their fault."""
        problem = self._pump.problem or problem
        if problem is not None and not self.cut_short:
            self._asks.ended(problem)

    @property
    def notes(self) -> dict[str, object]:
        """Fields of the log line that the last event does not have."""
        notes = dict(self._asks.turn.notes)
        if self._pump.problem is not None:
            notes["cause"] = self._pump.problem.code
        if self.cut_short:
            notes["cut_short"] = True
        return notes

    async def open(self, patience: float) -> None:
        """Waits up to `patience` seconds for the first payload. Raises `ProblemError` if the turn is refused."""
        await self._pump.open(patience)

    def send_directly(self, client: DirectClient) -> None:
        """Sends this client what can be sent at once; only the other events come in `batches`."""
        self._asks.client = client

    def batches(self) -> AsyncIterator[list[Event]]:
        """Events, to be sent as they come; the last batch holds the last event."""
        return self._pump.batches()

    def interrupt(self, problem: Problem) -> None:
        """Ends it with this problem."""
        self._pump.interrupt(problem)

    def stop(self, reason: StopReason) -> None:
        """Ends it because its client wants that, unless all of the answer is there."""
        self._pump.stop(reason)

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, before all that follow."""
        self._pump.insert(event)

    @property
    def is_ending(self) -> bool:
        """Whether all of the answer is there, or the turn is being ended."""
        return self._pump.is_ending

    async def close(self) -> None:
        """Stops asking, and returns when the upstream is closed."""
        await self._pump.close()


class TurnLifecycle:
    """One turn from the arrival of its request: its slot, its upstream, and its log line."""

    __slots__ = ("_limits", "_running", "_slot", "log")

    def __init__(self, turn_log: TurnLog, limits: Limits) -> None:
        self.log = turn_log
        self._limits = limits
        self._slot: Slot | None = None
        self._running: RunningTurn | None = None

    @property
    def slot(self) -> Slot:
        """Its slot, which it has from `admit` on."""
        assert self._slot is not None  # noqa: S101 — our own misuse
        return self._slot

    @property
    def caller(self) -> Key:
        """The key that the request was sent with, from `admit` on."""
        return self.slot.caller

    def admit(self, caller: Key) -> None:
        """Take a slot for this caller. Raises `ProblemError` if there is none."""
        self.log.set_caller(caller)
        self._slot = self._limits.admit(caller)

    def refuse(self, problem: Problem) -> None:
        """Log a refusal before the block: nothing is held yet."""
        self.log.refused(problem)
        self.log.write()

    def begun(self, running: RunningTurn) -> None:
        """Set the running turn: the end of the server interrupts it, and the end of the block closes it."""
        self._running = running
        self.slot.on_end(running.interrupt)

    def sends(self, batch: list[Event]) -> None:
        """Called before a batch of `RunningTurn.batches` is sent. The slot is given back before the last one is."""
        last = batch[-1] if batch else None
        if isinstance(last, LastEvent | RelayedLast):
            self.log.ends(last)
            self.slot.give_back()
        self.log.sent(batch)

    async def __aenter__(self) -> Self:
        """Nothing is held yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what was opened, and write the log line."""
        try:
            if self._running is not None:
                await self._running.close()
        finally:
            if self._slot is not None:
                self._slot.give_back()
            self._note_end(error)
            self.log.write()

    def _note_end(self, error: BaseException | None) -> None:
        if self._running is not None:
            self._running.report(error.problem if isinstance(error, ProblemError) else None)
        if isinstance(error, ProblemError) and not self.log.has_failed:
            self.log.refused(error.problem)
            if self._running is not None and error.problem is LEAVING:
                self.log.note(cut_short=True)
            return
        if self._running is not None:
            self.log.note(**self._running.notes)
        if isinstance(error, ProblemError):
            self.log.note(status=error.problem.shape.status, error=error.problem.code)
            return
        if isinstance(error, Exception) and not isinstance(error, ClientGoneError):
            self.log.failed()
