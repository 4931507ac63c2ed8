"""Frames of a websocket that start no turn: those that end a running one, and those that get an error at once."""

from collections.abc import Callable
from typing import Any, Final

from ..parsing.validation import SHOWN
from ..protocol.control_events import (
    ControlError,
    ControlEvent,
    FailedSteer,
    InjectFailed,
    InterruptAccepted,
    InterruptFailed,
    SteerFailed,
)
from ..protocol.problems import Problem
from .websocket_lanes import Lane

Json = dict[str, Any]
Find = Callable[[object], Lane | None]
"""The lane that runs the response of this id."""

DISCARD: Final = "discard_partial_items"
"""The mode of a `response.interrupt`, and the only one that is known."""
NO_STEERING: Final = ControlError(
    code="steering_not_supported",
    message="This server cannot steer a running response. Send the input in a 'response.create' that continues it.",
)
NO_INJECTION: Final = ControlError(
    code="response_not_found",
    message="No response of this server takes input while it runs. Send the input in a 'response.create'.",
)
NOT_RUNNING: Final = ControlError(
    code="response_not_found", message="No response with this 'response_id' runs on this connection."
)
NO_SUCH_MODE: Final = ControlError(
    code="interrupt_not_supported", message=f"Invalid value for 'mode': the only known mode is '{DISCARD}'."
)
NOTHING_TO_CANCEL: Final = Problem(
    code="invalid_value", message="There is no running response to cancel on this connection.", param="response_id"
)


def _steer(raw: Json, _: Find) -> ControlEvent:
    steer = FailedSteer(previous_response_id=raw.get("previous_response_id"), input=raw.get("input"))
    return SteerFailed(error=NO_STEERING, steer=steer)


def _inject(raw: Json, _: Find) -> ControlEvent:
    return InjectFailed(response_id=raw.get("response_id"), input=raw.get("input"), error=NO_INJECTION)


def _interrupt(raw: Json, find: Find) -> ControlEvent | None:
    response_id = raw.get("response_id")
    if raw.get("mode", DISCARD) != DISCARD:
        return InterruptFailed(response_id=response_id, error=NO_SUCH_MODE)
    lane = find(response_id)
    if lane is None or lane.response_id is None:
        return InterruptFailed(response_id=response_id, error=NOT_RUNNING)
    known = lane.response_id
    lane.insert(lambda number: InterruptAccepted(sequence_number=number, response_id=known))
    lane.stop("interrupted")
    return None


def _cancel(raw: Json, find: Find) -> Problem | None:
    lane = find(raw.get("response_id"))
    if lane is None:
        return NOTHING_TO_CANCEL
    lane.stop("cancelled")
    return None


CONTROL: Final[dict[str, Callable[[Json, Find], ControlEvent | Problem | None]]] = {
    "response.steer": _steer,
    "response.inject": _inject,
    "response.interrupt": _interrupt,
    "response.cancel": _cancel,
}
"""What is done with a frame of each type. The result is sent at once; None: the running turn tells the client."""


def unknown_type(kind: str) -> Problem:
    """The problem of a frame of any other type."""
    name = kind if len(kind) <= SHOWN else f"{kind[:SHOWN]}…"
    message = f"Invalid value for 'type': this server takes 'response.create' frames, and knows no '{name}'."
    return Problem(code="invalid_value", message=message, param="type")
