"""Ids of a foreign server, marked as having come through this one. The original is inside: nothing is remembered."""

from typing import Final

MARK: Final = "AM-"


def marked(foreign: str) -> str:
    """`msg_68ab` -> `msg_AM-68ab`. Whatever is given, `original` finds it again."""
    prefix, line, rest = foreign.partition("_")
    return f"{prefix}_{MARK}{rest}" if line else MARK + foreign


def original(ours: str) -> str:
    """The id that was marked. One that never was is left as it is."""
    prefix, line, rest = ours.partition("_")
    if line and rest.startswith(MARK):
        return f"{prefix}_{rest.removeprefix(MARK)}"
    return ours if line else ours.removeprefix(MARK)
