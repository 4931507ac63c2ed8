"""Events of a websocket that answer its control frames. They belong to no item of a response."""

from typing import Any, Literal

import msgspec

from .events import Event


class ControlEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event outside of the stream of a response, which may be as long as the frame that it answers."""

    sequence_number: int = 0


class ControlError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a control frame has no effect."""

    code: str
    message: str
    type: Literal["invalid_request_error"] = "invalid_request_error"


class InterruptFailed(ControlEvent, frozen=True, kw_only=True, tag="response.interrupt.failed"):
    """A `response.interrupt` ends nothing."""

    response_id: Any
    error: ControlError


class InterruptAccepted(Event, frozen=True, kw_only=True, tag="response.interrupt.accepted"):
    """A `response.interrupt` ends the response, whose last event follows."""

    response_id: str
