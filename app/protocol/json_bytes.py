"""JSON as bytes and back, whatever is in it."""

import json
from typing import Any, Final

import msgspec


class _AnyObject(msgspec.Struct):
    """Any JSON object: all its members are checked, and none is built."""


_object: Final = msgspec.json.Decoder(_AnyObject)
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


def json_bytes(told: Any) -> bytes:
    """As JSON. Half of a character in UTF-16, which JSON can say and UTF-8 cannot, leaves as the escape it came as."""
    try:
        return _encoder.encode(told)
    except UnicodeEncodeError:
        return json.dumps(told, separators=(",", ":")).encode()


def whole_json_bytes(told: Any) -> bytes:
    """As JSON without half characters: two halves beside each other become one character, any other becomes U+FFFD."""
    try:
        return _encoder.encode(told)
    except UnicodeEncodeError:
        text = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def json_value(written: bytes) -> Any:
    """What `json_bytes` wrote."""
    try:
        return _decoder.decode(written)
    except msgspec.DecodeError:
        return json.loads(written)


def is_json_object(text: str) -> bool:
    """Whether this is one JSON object. A text of many small values costs no memory."""
    try:
        _object.decode(text)
    except (ValueError, RecursionError):
        return False
    return True
