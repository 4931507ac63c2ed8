"""Events of a websocket that answer its control frames. They belong to no item of a response."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .events import Event


class ControlEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event outside of the stream of a response, which may be as long as the frame that it answers."""

    sequence_number: int = 0


class ControlError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a control frame has no effect."""

    code: str
    message: str
    type: Literal["invalid_request_error"] = "invalid_request_error"


class FailedSteer(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent to steer a response, for the client to send again in another way."""

    previous_response_id: Any
    input: Any
    id: str | UnsetType = UNSET
    """Only of input that was accepted before."""


class SteerFailed(ControlEvent, frozen=True, kw_only=True, tag="response.steer.failed"):
    """The input of a `response.steer` is not used."""

    error: ControlError
    steer: FailedSteer


class SteerReference(msgspec.Struct, frozen=True, kw_only=True):
    """Input that was accepted to steer a response."""

    id: str
    previous_response_id: str


class SteerPending(ControlEvent, frozen=True, kw_only=True, tag="response.steer.pending"):
    """The accepted input waits for a `response.create` with the results of the response's calls."""

    steer: SteerReference
    reason: Literal["waiting_for_required_input"] = "waiting_for_required_input"
    required_input: list[dict[str, Any]]


class InjectFailed(ControlEvent, frozen=True, kw_only=True, tag="response.inject.failed"):
    """The input of a `response.inject` is not used."""

    response_id: Any
    input: Any
    error: ControlError


class InterruptFailed(ControlEvent, frozen=True, kw_only=True, tag="response.interrupt.failed"):
    """A `response.interrupt` ends nothing."""

    response_id: Any
    error: ControlError


class SteerAccepted(Event, frozen=True, kw_only=True, tag="response.steer.accepted"):
    """The input of a `response.steer` will be used: in a response that follows, or after the client's results."""

    steer: SteerReference


class InterruptAccepted(Event, frozen=True, kw_only=True, tag="response.interrupt.accepted"):
    """A `response.interrupt` ends the response, whose last event follows."""

    response_id: str
