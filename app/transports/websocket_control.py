"""Answers to frames of a websocket that start no turn."""

from typing import Any, Final

from ..parsing.validation import SHOWN
from ..protocol.control_events import ControlError, ControlEvent, FailedSteer, InjectFailed, SteerFailed
from ..protocol.problems import Problem

NO_STEERING: Final = ControlError(
    code="steering_not_supported",
    message="This server cannot steer a running response. Send the input in a 'response.create' that continues it.",
)
NO_INJECTION: Final = ControlError(
    code="response_not_found",
    message="No response of this server takes input while it runs. Send the input in a 'response.create'.",
)


GIVEN_BACK: Final = frozenset({"response.steer", "response.inject"})
"""The types of frames whose answer gives back their input."""


def given_back(kind: str, raw: dict[str, Any]) -> ControlEvent:
    """The answer to a frame of one of these types."""
    if kind == "response.steer":
        steer = FailedSteer(previous_response_id=raw.get("previous_response_id"), input=raw.get("input"))
        return SteerFailed(error=NO_STEERING, steer=steer)
    return InjectFailed(response_id=raw.get("response_id"), input=raw.get("input"), error=NO_INJECTION)


def unknown_type(kind: str) -> Problem:
    """The problem of a frame of any other type."""
    name = kind if len(kind) <= SHOWN else f"{kind[:SHOWN]}…"
    message = f"Invalid value for 'type': this server takes 'response.create' frames, and knows no '{name}'."
    return Problem(code="invalid_value", message=message, param="type")
