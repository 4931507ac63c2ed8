"""Warnings, told to the caller: nobody should have to read the server's log to learn why a tool was not used."""

import json
from collections.abc import Sequence
from typing import Final

HEADER: Final = "x-am-warnings"
MEMBER: Final = "x_am_warnings"
ROOM: Final = 4000
"""Bytes of warnings in a header: servers and proxies refuse more than about 8,000 in all."""
MOST: Final = 100
"""Warnings that are told or logged of one turn; the others are counted."""
LONGEST: Final = 500
"""Characters of one."""


def in_header(warnings: Sequence[str]) -> dict[str, str]:
    """As a header of the answer, if there are any."""
    told = _told(warnings)
    return {HEADER: json.dumps(told)} if told else {}


def in_event(warnings: Sequence[str], event: bytes) -> bytes:
    """As one more member of an event, where there is no header. Clients read past what they do not know."""
    told = _told(warnings)
    return event[:-1] + f',"{MEMBER}":{json.dumps(told)}}}'.encode() if told else event


def bounded(warnings: Sequence[str]) -> list[str]:
    """The first of them, none of them long, and how many more there are."""
    first = [_short(warning) for warning in warnings[:MOST]]
    return first if len(warnings) <= MOST else [*first, f"and {len(warnings) - MOST} more"]


def _told(warnings: Sequence[str]) -> list[str]:
    told: list[str] = []
    room = ROOM
    for warning in map(_short, warnings[:MOST]):
        room -= len(json.dumps(warning)) + len(", ")  # as it is written: what is not ASCII takes six bytes
        if room < 0:
            break
        told.append(warning)
    if len(told) < len(warnings):
        told.append(f"and {len(warnings) - len(told)} more, in the server's log")
    return told


def _short(warning: str) -> str:
    return warning if len(warning) <= LONGEST else f"{warning[: LONGEST - 1]}…"
