"""JSON both ways: strict in what is sent, lenient in what model servers write."""

import json
from typing import Any

import msgspec

Json = dict[str, Any]
"""A JSON object."""

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class NotJsonError(ValueError):
    """A text that is no JSON."""


def decode(data: bytes | str) -> Any:
    """The value of a JSON text that a model's server wrote, with whole characters only.

    Some write NaN, or half of a UTF-16 character: an answer is not refused for that.
    """
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return whole_characters(json.loads(data))
    except (ValueError, RecursionError):
        raise NotJsonError from None


def whole_characters(value: Any) -> Any:
    """The value with U+FFFD for each half of a UTF-16 character, which UTF-8 cannot hold; two halves are joined."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def is_object(text: str) -> bool:
    """Whether this is one complete JSON object."""
    try:
        return isinstance(_decode(text), dict)
    except (ValueError, RecursionError):
        return False
