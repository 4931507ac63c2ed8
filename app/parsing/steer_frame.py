"""Parses `response.steer`: what the user says while a response runs."""

from typing import Any, Final, NamedTuple

from ..protocol.problems import refuse
from ..protocol.request.plain_messages import MEMBERS, as_items, role_of
from .bounds import Bounds
from .items import parse_input
from .validation import SHOWN, an_array, an_object, missing, wrong_type

Json = dict[str, Any]

_FRAME: Final = frozenset({"type", "previous_response_id", "input"})
_PARTS: Final = frozenset({"input_text", "input_image", "input_file"})


class SteerFrame(NamedTuple):
    """One `response.steer` frame."""

    previous_response_id: str
    """The response that is to be steered."""
    given: Any
    """The input as it was sent."""
    items: list[Json]
    """The input as items."""


def parse_steer(raw: Json, bounds: Bounds) -> SteerFrame:
    """The frame that `decode_object` has read. Refuses all input but messages of the user."""
    _no_others(raw, _FRAME, "")
    response_id = raw.get("previous_response_id")
    if response_id is None:
        raise missing("previous_response_id")
    if not isinstance(response_id, str):
        raise wrong_type("previous_response_id", "a string", response_id)
    given = raw.get("input")
    if given is None:
        raise missing("input")
    if not given:
        raise refuse("invalid_value", "'input' must not be empty.", "input")
    items = an_array(as_items(given), "input")
    parse_input(items, bounds)
    for index, item in enumerate(items):
        _check(an_object(item, f"input[{index}]"), f"input[{index}]")
    return SteerFrame(response_id, given, items)


def _check(item: Json, path: str) -> None:
    _no_others(item, MEMBERS, f"{path}.")
    if role_of(item) != "user":
        raise refuse("invalid_value", f"'{path}' must be a message of the user: nothing else can steer.", path)
    content = item.get("content")
    for index, part in enumerate(content if isinstance(content, list) else []):
        if part.get("type") not in _PARTS:
            where = f"{path}.content[{index}].type"
            raise refuse("invalid_value", f"Invalid value for '{where}': use text, images and files.", where)


def _no_others(raw: Json, known: frozenset[str], path: str) -> None:
    for key in raw:
        if key not in known:
            name = f"{path}{key[:SHOWN]}"
            raise refuse(
                "unknown_parameter",
                f"Unknown parameter: '{name}'. A steer frame has none but these: {', '.join(sorted(known))}.",
                name,
            )
