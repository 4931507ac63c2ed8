"""What a client says while a response of a lane runs, until another response begins with it.

Input is accepted while the response runs, which then ends before its next item, or as it would have ended. Then

    it failed, or its client ended it    the input is given back, with `response.steer.failed`
    its calls wait for outputs           the input waits for a `response.create` that brings them
    else                                 another response begins: the same settings, and the input after the history
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..parsing.steer_frame import SteerFrame
from ..protocol.control_events import (
    ControlError,
    FailedSteer,
    SteerAccepted,
    SteerFailed,
    SteerPending,
    SteerReference,
)
from ..protocol.ids import NewId
from .websocket_frames import FrameSender, WaitingFrames

Json = dict[str, Any]

MOST: Final = 16
"""The most frames whose input may wait in a lane."""
TOO_MANY: Final = ControlError(
    code="too_many_pending_steers", message="Too much input waits already, for this response or in all."
)
NOT_SUPPORTED: Final = ControlError(
    code="steering_not_supported",
    message="A response that may begin with a summary ('context_management') cannot be steered. Send the input in a "
    "'response.create' that continues it.",
)
ENDED: Final = ControlError(code="response_not_active", message="The response has ended, and no other follows it.")
REPLACED: Final = ControlError(
    code="response_not_active", message="The response was not continued: another one has taken its place."
)


class AcceptedSteer(NamedTuple):
    """The input of one frame."""

    reference: SteerReference
    given: Any
    items: list[Json]
    size: int
    """Bytes that are counted for it."""

    def accepted(self, number: int) -> SteerAccepted:
        """The event that says that it will be used."""
        return SteerAccepted(sequence_number=number, steer=self.reference)

    def failed(self, error: ControlError, number: int) -> SteerFailed:
        """The event that gives it back."""
        of = self.reference
        steer = FailedSteer(previous_response_id=of.previous_response_id, input=self.given, id=of.id)
        return SteerFailed(sequence_number=number, error=error, steer=steer)


class Steers:
    """The input that waits in one lane."""

    def __init__(self, lane: str | None, sender: FrameSender, room: WaitingFrames, new_id: NewId) -> None:
        self._lane = lane
        self._sender = sender
        self._room = room
        self._new_id = new_id
        self._accepted: list[AcceptedSteer] = []
        """Of the response that runs."""
        self._waiting: list[AcceptedSteer] = []
        """Of an earlier one, whose calls wait for outputs."""
        self.parent: str | None = None
        """That response."""
        self.number = 0
        """The number of the next event after the last event of a response."""

    def accept(self, frame: SteerFrame, size: int) -> AcceptedSteer | None:
        """Adds the input of a frame of this size; None if there is no room."""
        if len(self._accepted) + len(self._waiting) >= MOST or not self._room.hold(size):
            return None
        reference = SteerReference(id=self._new_id("steer"), previous_response_id=frame.previous_response_id)
        self._accepted.append(AcceptedSteer(reference, frame.given, frame.items, size))
        return self._accepted[-1]

    def take_accepted(self) -> list[AcceptedSteer]:
        """Removes and returns the input for the response that has just ended, in its order."""
        steers, self._accepted = self._accepted, []
        return self._released(steers)

    def take_waiting(self) -> list[AcceptedSteer]:
        """The same for the input that waits for outputs."""
        steers, self._waiting, self.parent = self._waiting, [], None
        return self._released(steers)

    async def wait(self, steers: list[AcceptedSteer], response_id: str, required: list[Json]) -> None:
        """Waits with this input for the outputs that a response requires, and says so."""
        await self.give_back(self.take_waiting(), REPLACED)
        for steer in steers:
            if not self._room.hold(steer.size):
                await self.give_back([steer], TOO_MANY)
                continue
            self._waiting.append(steer)
            self.parent = response_id
            event = SteerPending(sequence_number=self._next_number(), steer=steer.reference, required_input=required)
            await self._sender.control(event, self._lane, steer.size)

    async def give_back(self, steers: Sequence[AcceptedSteer], error: ControlError) -> None:
        """Tells the client that this input is not used."""
        for steer in steers:
            await self._sender.control(steer.failed(error, self._next_number()), self._lane, steer.size)

    def _released(self, steers: list[AcceptedSteer]) -> list[AcceptedSteer]:
        self._room.release(sum(steer.size for steer in steers))
        return steers

    def _next_number(self) -> int:
        number, self.number = self.number, self.number + 1
        return number


def not_created(message: str) -> ControlError:
    """The error of input whose response could not begin, because of this problem."""
    return ControlError(code="successor_creation_failed", message=message)


def items_of(steers: Sequence[AcceptedSteer]) -> list[Json]:
    """The input as items."""
    return [item for steer in steers for item in steer.items]


def insert_steers(items: list[Any], start: int, steers: Sequence[AcceptedSteer]) -> range:
    """Adds the input behind the outputs that begin at `start`, because an output must follow its call."""
    while start < len(items) and isinstance(items[start], dict) and str(items[start].get("type")).endswith("_output"):
        start += 1
    given = items_of(steers)
    items[start:start] = given
    return range(start, start + len(given))
