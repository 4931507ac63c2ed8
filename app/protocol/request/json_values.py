"""How many values a JSON body holds, before any of them is built: a value of two bytes becomes an object of many."""

from typing import Final

CHUNK: Final = 1024 * 1024
"""Bytes that are looked at together."""


def holds_more_values(body: bytes, most: int) -> bool:
    """Whether this JSON holds more than `most` values; of what is no JSON, those before its first fault are counted."""
    if _opened(body) <= most:  # what is written in strings is counted as well, and it is still few enough
        return False
    return count_values(body, most=most) > most


def count_values(body: bytes, *, most: int | None = None, chunk: int = CHUNK) -> int:
    """The values in this JSON: one for each comma, one for each `{` and `[`, which could hold one, and the whole.

    Stops where it has found more than `most`.
    """
    count, start, in_string = 1, 0, False
    while start < len(body) and (most is None or count <= most):
        piece = body[start : start + chunk]
        if _ends_in_an_escape(piece):
            piece = body[start : start + chunk + 1]
        start += len(piece)
        between_quotes = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        count += _opened(b"".join(between_quotes[1 if in_string else 0 :: 2]))
        in_string ^= len(between_quotes) % 2 == 0
    return count


def _opened(text: bytes) -> int:
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def _ends_in_an_escape(piece: bytes) -> bool:
    """Whether the character that the last backslash escapes comes in the next piece."""
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
