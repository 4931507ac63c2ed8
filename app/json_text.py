"""Encodes and decodes JSON, also with half characters, and counts its values without building them."""

import json
from typing import Any, Final

import msgspec


class _AnyObject(msgspec.Struct):
    """Any JSON object: all its members are checked, and none is built."""


CHUNK: Final = 1024 * 1024
"""Bytes of JSON that are searched at once."""

_object: Final = msgspec.json.Decoder(_AnyObject)
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


def json_bytes(value: Any) -> bytes:
    """The value as JSON. Half of a UTF-16 character, which UTF-8 cannot hold, is written as an escape."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def repaired_json_bytes(value: Any) -> bytes:
    """The value as JSON without half characters: two adjacent halves become one character, any other U+FFFD."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def json_value(data: bytes) -> Any:
    """The value of JSON that `json_bytes` wrote."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)


def is_json_object(text: str) -> bool:
    """Whether this is one JSON object. A text of many small values costs no memory."""
    try:
        _object.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def holds_more_values(body: bytes, most: int) -> bool:
    """Whether this JSON holds more than `most` values. If it is invalid, those before the error count."""
    if len(body) <= most or _opened(body) <= most:  # each value takes a byte; the signs are also counted in strings
        return False
    return count_values(body, most=most) > most


def count_values(body: bytes, *, most: int | None = None, chunk: int = CHUNK) -> int:
    """The values in this JSON: one for each comma, one for each `{` and `[`, which could hold one, and the whole.

    Stops after more than `most`.
    """
    count, start, in_string = 1, 0, False
    while start < len(body) and (most is None or count <= most):
        piece = body[start : start + chunk]
        if _ends_in_an_escape(piece):
            piece = body[start : start + chunk + 1]
        start += len(piece)
        if b"\\" in piece:  # found at once, while a search for two characters takes long
            piece = piece.replace(rb"\\", b"").replace(rb"\"", b"")
        between_quotes = piece.split(b'"')
        count += _opened(b"".join(between_quotes[1 if in_string else 0 :: 2]))
        in_string ^= len(between_quotes) % 2 == 0
    return count


def _opened(text: bytes) -> int:
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def _ends_in_an_escape(piece: bytes) -> bool:
    """Whether the last backslash escapes a character of the next piece."""
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
