"""What an upstream sealed, marked with who it was: another server could not read it, and would refuse the request."""

from hashlib import sha256
from typing import Final

MARK: Final = "AMR1."
"""How a marked seal begins."""
_TAG: Final = 10
"""Letters that tell upstreams apart."""


def tag_of(origin: str) -> str:
    """The same for an upstream in every replica."""
    return sha256(origin.encode("utf-8", "surrogatepass")).hexdigest()[:_TAG]


def marked_seal(foreign: str, tag: str) -> str:
    """The seal with its mark before it."""
    return f"{MARK}{tag}.{foreign}"


def original_seal(sealed: str, tag: str) -> str | None:
    """The seal as this upstream gave it, or None if another one did.

    One without any mark is left as it is: the client may have had it from the upstream itself.
    """
    if not sealed.startswith(MARK):
        return sealed
    whose, _, foreign = sealed.removeprefix(MARK).partition(".")
    return foreign if whose == tag else None
