"""One lane of a websocket: turns in the order of their frames, one after the other.

A lane has the name that the client gave in `stream_id`; the default lane has none. Lanes run side by side, and each of
their events holds the name. A turn runs as a POST does: it takes a slot, is decoded, asks, and sends its events; then
the memory keeps its outcome, before the last event is sent, because another lane may continue it from then on.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from ..emitter.encoded_size import size_of
from ..emitter.rules import StopReason
from ..off_loop import off_loop
from ..parsing.create_frame import Frame, parse_frame
from ..protocol.events import Event, LastEvent, RelayedLast, is_last
from ..protocol.problems import ProblemError
from ..protocol.warnings import ClientWarning
from ..settings import Key, Server
from ..turns.conversation_memory import ConversationMemory, continued_input, conversation_of
from ..turns.frame_positions import FramePositions
from ..turns.lifecycle import RunningTurn, TurnLifecycle
from ..turns.service import BegunTurn, TurnService
from ..turns.warning_output import not_told
from . import sse
from .websocket_frames import FrameSender, WaitingFrames, created_id, frames, send_one_by_one, warnings_by_position


@dataclass(frozen=True, eq=False)
class LaneContext:
    """What all lanes of a connection share."""

    service: TurnService
    server: Server
    caller: Key
    originator: str
    lenient: bool
    memory: ConversationMemory
    waiting: WaitingFrames
    sender: FrameSender
    places: asyncio.Semaphore
    """Limits how many turns run at once."""
    new_turn: Callable[[], TurnLifecycle]
    may_begin: Callable[[], bool]
    """Whether a turn may begin now."""
    idle: Callable[[], None]
    """Called when a lane has nothing more to do."""


class Lane:
    """Runs the turns of one lane."""

    def __init__(self, name: str | None, context: LaneContext) -> None:
        self.name = name
        self.is_busy = False
        self.response_id: str | None = None
        """The id of the running response, once the client knows it."""
        self._running: RunningTurn | None = None
        self._context = context

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Runs the turns of the frames that wait, in a task of its own, unless it does already."""
        if not self.is_busy:
            self.is_busy = True
            tasks.create_task(self._run())

    @property
    def can_be_stopped(self) -> bool:
        """Whether a turn runs that has not ended."""
        return self._running is not None and not self._running.is_ending

    def insert(self, event: Callable[[int], Event]) -> None:
        """Sends the event that this makes from a number, as the next one of the running turn."""
        if self._running is not None:
            self._running.insert(event)

    def stop(self, reason: StopReason) -> None:
        """Ends the running turn: its upstream is closed, and its last event follows."""
        if self._running is not None:
            self._running.stop(reason)

    async def _run(self) -> None:
        context = self._context
        try:
            while context.waiting.of(self.name) and context.may_begin():
                async with context.places:
                    if context.may_begin():
                        await self._turn(context.waiting.pop(self.name))
        finally:
            self.is_busy = False
            context.idle()

    async def _turn(self, data: bytes) -> None:
        """The turn of a frame."""
        context, raw = self._context, dict[str, Any]()
        size, positions = len(data), FramePositions()
        try:
            async with context.new_turn() as turn:
                try:
                    turn.admit(context.caller)
                    turn.log.reached("admitted")
                    turn.log.reached("body")
                    raw = await context.service.decode(data)
                    frame = parse_frame(raw, lenient=context.lenient)
                    if frame.previous_response_id is not None:
                        remembered = context.memory.find(frame.previous_response_id)
                        size += len(remembered.conversation)
                        history = await off_loop(size, context.memory.recall, remembered, data)
                        frame.body["input"] = continued_input(history, frame.body.get("input"))
                        positions = FramePositions(len(history))
                    await self._answer(frame, size, turn, positions)
                except ProblemError as error:
                    raise ProblemError(positions.problem(error.problem)) from None
        except ProblemError as error:
            context.memory.forget(self.name, raw.get("previous_response_id"))
            await context.sender.error(error.problem, self.name)

    async def _answer(self, frame: Frame, size: int, turn: TurnLifecycle, positions: FramePositions) -> None:
        """Sends the answer."""
        service, patience = self._context.service, self._context.server.first_payload_wait
        create = await service.read_object(frame.body, turn, size, previous_response_id=frame.previous_response_id)
        running = await service.begin(create, turn, originator=self._context.originator)
        if isinstance(running, RunningTurn):
            self._running = running
        try:
            await running.open(patience)
            turn.log.note(status=HTTPStatus.OK.value)
            await self._send_batches(turn, frame, size, running, positions)
        finally:
            self._running = self.response_id = None

    async def _send_batches(
        self,
        turn: TurnLifecycle,
        frame: Frame,
        size: int,
        running: BegunTurn,
        positions: FramePositions,
    ) -> None:
        """Sends the batches of a turn with their warnings, late ones in the last event."""
        sender, last = self._context.sender, None
        told: Sequence[ClientWarning] = ()
        async for batch in running.batches():
            turn.sends(batch)
            first = () if last is not None else running.warnings
            told = told or first
            late = [*not_told(running.warnings, told), *running.late_warnings] if is_last(batch) else ()
            warnings = warnings_by_position(batch, [*map(positions.warning, first)], [*map(positions.warning, late)])
            if last is None and batch:
                self.response_id = created_id(batch[0])
            last = batch[-1]
            if is_last(batch):
                await self._remember(frame, sse.checked_last(last), size)
            if sse.is_short(batch, size):
                await sender.send(*frames(batch, warnings, self.name))
            else:
                await send_one_by_one(batch, warnings, self.name, size, sender.send)
        sse.checked_last(last)

    async def _remember(self, frame: Frame, last: LastEvent | RelayedLast, size: int) -> None:
        memory = self._context.memory
        if last.response.status == "failed":
            memory.forget(self.name, frame.previous_response_id)
            return
        outcome = await off_loop(size + size_of(last, 0), conversation_of, frame.body["input"], last)
        memory.keep(self.name, *outcome)
