"""Ids of another server with this server's mark. The original id is inside, so nothing has to be stored."""

from typing import Final

MARK: Final = "AM-"


def marked(foreign: str) -> str:
    """`msg_68ab` -> `msg_AM-68ab`. `original` is its inverse for every string."""
    prefix, line, rest = foreign.partition("_")
    return f"{prefix}_{MARK}{rest}" if line else MARK + foreign


def original(ours: str) -> str:
    """The id without its mark. An id without a mark is returned as it is."""
    prefix, line, rest = ours.partition("_")
    if line and rest.startswith(MARK):
        return f"{prefix}_{rest.removeprefix(MARK)}"
    return ours if line else ours.removeprefix(MARK)
