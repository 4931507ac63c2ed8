"""Ids as this server gives them: `resp_AM-…`, `msg_AM-…`, `fc_AM-…`, `call_AM-…`."""

from collections.abc import Callable

Mint = Callable[[str], str]
"""Makes a new id from its prefix ("msg" -> "msg_AM-4k2…")."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def minting(random_bytes: Callable[[int], bytes], milliseconds: Callable[[], int]) -> Mint:
    """A mint over a source of chance and a clock; response ids carry the time, so that logs sort."""

    def letters(count: int) -> str:
        return "".join([ALPHABET[byte % 36] for byte in random_bytes(count)])

    def mint(prefix: str) -> str:
        if prefix == "resp":
            return f"resp_AM-{milliseconds()}-{letters(8)}"
        return f"{prefix}_AM-{letters(12)}"

    return mint
