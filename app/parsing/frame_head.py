"""Reads what a frame of a websocket asks for, and nothing else of it: what cannot be served is answered at once."""

from typing import Final, NamedTuple

import msgspec

from ..protocol.problems import refuse
from .bounds import MAX_JSON_VALUES
from .json_object import decode_object
from .validation import missing, wrong_type

CREATE: Final = "response.create"


class FrameHead(NamedTuple):
    """What decides how a frame is served."""

    type: str


class _Members(msgspec.Struct):
    """The members that are read; the others are skipped, and no object is made of them."""

    type: msgspec.Raw = msgspec.Raw(b"null")


def read_head(data: bytes, max_json_values: int = MAX_JSON_VALUES) -> FrameHead:
    """The head of this frame. Refuses what is no JSON object, and an object without a type."""
    try:
        members = msgspec.json.decode(data, type=_Members)
        kind = msgspec.json.decode(members.type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decode_object(data, max_json_values)  # raises, and names the fault
        raise refuse("invalid_json", "The frame is not valid JSON.") from None
    if kind is None:
        raise missing("type")
    if not isinstance(kind, str):
        raise wrong_type("type", "a string", kind)
    return FrameHead(kind)
