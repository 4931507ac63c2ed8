"""Reads what a frame of a websocket asks for, and nothing else of it: what cannot be served is answered at once."""

import string
from typing import Final, NamedTuple

import msgspec

from ..protocol.problems import refuse
from .bounds import MAX_JSON_VALUES
from .json_object import decode_object
from .validation import missing, wrong_type

CREATE: Final = "response.create"
_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "_-.")
_LONGEST: Final = 256
_ESCAPED: Final = 6
"""Bytes of a character as JSON, at most."""
_LONGEST_TYPE: Final = 1024
"""Bytes as JSON."""


class FrameHead(NamedTuple):
    """What decides how a frame is served."""

    type: str
    stream_id: str | None
    """The lane of a `response.create`; None is the default one."""


class _Members(msgspec.Struct):
    """The members that are read; the others are skipped, and no object is made of them."""

    type: msgspec.Raw = msgspec.Raw(b"null")
    stream_id: msgspec.Raw = msgspec.Raw(b"null")


def read_head(data: bytes, max_json_values: int = MAX_JSON_VALUES) -> FrameHead:
    """The head of this frame. Refuses what is no JSON object, an object without a type, and no name of a lane.

    What is too long for a type or a name is not decoded.
    """
    try:
        members = msgspec.json.decode(data, type=_Members)
        if len(members.type) > _LONGEST_TYPE:
            raise refuse("invalid_value", f"'type' must be a string of at most {_LONGEST_TYPE} bytes.", "type")
        kind = msgspec.json.decode(members.type)
        stream_id = _stream_id(members.stream_id) if kind == CREATE else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decode_object(data, max_json_values)  # raises, and names the fault
        raise refuse("invalid_json", "The frame is not valid JSON.") from None
    if kind is None:
        raise missing("type")
    if not isinstance(kind, str):
        raise wrong_type("type", "a string", kind)
    return FrameHead(kind, stream_id)


def _stream_id(raw: msgspec.Raw) -> str | None:
    if len(raw) <= _LONGEST * _ESCAPED + len('""'):
        name = msgspec.json.decode(raw)
        if name is None:
            return None
        if isinstance(name, str) and 0 < len(name) <= _LONGEST and _CHARACTERS.issuperset(name):
            return name
    message = "'stream_id' must be a string of 1 to 256 letters, digits, underscores, hyphens and periods."
    raise refuse("invalid_stream_id", message, "stream_id")
