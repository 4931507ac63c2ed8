"""Frames of a websocket that start no turn: those that end a running one, and those that get an error at once."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from ..parsing.validation import SHOWN, wrong_type
from ..protocol.control_events import ControlError, ControlEvent, InterruptAccepted, InterruptFailed
from ..protocol.problems import Problem, refuse
from ..settings.gone import instead_of
from .websocket_lanes import Lane

Json = dict[str, Any]


class Responses(Protocol):
    """The responses of a connection."""

    def running(self, response_id: object, name: object = None) -> Lane | None:
        """The lane that runs this response; for None the lane of this name, if it runs one."""
        ...


class ControlReply(NamedTuple):
    """What is sent at once, and the lane that it names."""

    event: ControlEvent | Problem
    lane: str | None = None


LONGEST: Final = 1024 * 1024
"""Bytes of a frame that starts no turn. It holds no slot, and others wait while it is read."""
LONGEST_ID: Final = 1024
"""Characters of an id, which the answer repeats."""
DISCARD: Final = "discard_partial_items"
"""The mode of a `response.interrupt`, and the only one that is known."""
NOT_RUNNING: Final = ControlError(
    code="response_not_found", message="No response with this 'response_id' runs on this connection."
)
NO_SUCH_MODE: Final = ControlError(
    code="interrupt_not_supported", message=f"Invalid value for 'mode': the only known mode is '{DISCARD}'."
)
NOTHING_TO_CANCEL: Final = Problem(
    code="invalid_value",
    message="No such response runs on this connection. A frame without 'response_id' is about the response of its "
    "'stream_id'.",
    param="response_id",
)


def _interrupt(raw: Json, responses: Responses) -> ControlReply | None:
    response_id = raw.get("response_id")
    if raw.get("mode", DISCARD) != DISCARD:
        return ControlReply(InterruptFailed(response_id=response_id, error=NO_SUCH_MODE))
    lane = responses.running(response_id, raw.get("stream_id"))
    if lane is None or lane.response_id is None:
        return ControlReply(InterruptFailed(response_id=response_id, error=NOT_RUNNING))
    known = lane.response_id
    lane.insert(lambda number: InterruptAccepted(sequence_number=number, response_id=known))
    lane.stop("interrupted")
    return None


def _cancel(raw: Json, responses: Responses) -> ControlReply | None:
    lane = responses.running(raw.get("response_id"), raw.get("stream_id"))
    if lane is None:
        return ControlReply(NOTHING_TO_CANCEL)
    lane.stop("cancelled")
    return None


CONTROL: Final[dict[str, Callable[[Json, Responses], ControlReply | None]]] = {
    "response.interrupt": _interrupt,
    "response.cancel": _cancel,
}
"""What is done with a frame of each type. None: the running turn tells the client."""


def check_length(kind: str, size: int) -> None:
    """Refuses a frame that starts no turn, and has too many bytes to be decoded."""
    if size > LONGEST:
        message = f"A frame of the type '{_shown(kind)}' may have at most {LONGEST} bytes, and this one has {size}."
        raise refuse("request_too_large", message)


def check_ids(raw: Json) -> None:
    """Refuses a frame that starts no turn, and names a response with more than an id."""
    for key in ("response_id", "previous_response_id"):
        named = raw.get(key)
        if isinstance(named, dict | list):
            raise wrong_type(key, "a string", named)
        if isinstance(named, str) and len(named) > LONGEST_ID:
            message = f"Invalid value for '{key}': an id has at most {LONGEST_ID} characters."
            raise refuse("invalid_value", message, key)


def unknown_type(kind: str) -> Problem:
    """The problem of a frame of any other type."""
    message = f"Invalid value for 'type': this server takes 'response.create' frames, and knows no '{_shown(kind)}'."
    if instead := instead_of("frame", kind):
        message = f"'{kind}' is gone; {instead}."
    return Problem(code="invalid_value", message=message, param="type")


def _shown(kind: str) -> str:
    return kind if len(kind) <= SHOWN else f"{kind[:SHOWN]}…"
