"""Ids of this server: `resp_AM-…`, `msg_AM-…`, `fc_AM-…`, `call_AM-…`."""

from collections.abc import Callable

NewId = Callable[[str], str]
"""Makes a new id from its prefix ("msg" -> "msg_AM-4k2…")."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_LETTERS = bytes(ord(ALPHABET[byte % 36]) for byte in range(256))
"""The letter for each byte."""


def id_maker(random_bytes: Callable[[int], bytes], milliseconds: Callable[[], int]) -> NewId:
    """The function that makes ids, from random bytes and a clock. Response ids hold the time, so that logs sort."""

    def letters(count: int) -> str:
        return random_bytes(count).translate(_LETTERS).decode()

    def new_id(prefix: str) -> str:
        if prefix == "resp":
            return f"resp_AM-{milliseconds()}-{letters(8)}"
        return f"{prefix}_AM-{letters(12)}"

    return new_id
