"""Sealed content, marked with its upstream: another server could not read it, and would refuse the request."""

from hashlib import sha256
from typing import Final

MARK: Final = "AMR1."
"""How a marked seal begins."""
_TAG: Final = 10
"""Letters of the part that identifies the upstream."""


def tag_of(origin: str) -> str:
    """What identifies an upstream. It is the same in every replica."""
    return sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:_TAG]


def marked_seal(foreign: str, tag: str) -> str:
    """The seal with its mark before it."""
    return f"{MARK}{tag}.{foreign}"


def original_seal(sealed: str, tag: str) -> str | None:
    """The seal as this upstream gave it, or None if it is another upstream's.

    A seal without a mark is returned as it is: the client may have it from the upstream itself.
    """
    if not sealed.startswith(MARK):
        return sealed
    whose, _, foreign = sealed.removeprefix(MARK).partition(".")
    return foreign if whose == tag else None
