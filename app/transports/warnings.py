"""Warnings, told to the caller: nobody should have to read the server's log to learn why a tool was not used."""

import json
from collections.abc import Sequence
from typing import Final

HEADER: Final = "x-am-warnings"
MEMBER: Final = "x_am_warnings"
ROOM: Final = 4000
"""Characters of warnings in a header: servers and proxies refuse more than about 8,000 in all."""


def in_header(warnings: Sequence[str]) -> dict[str, str]:
    """As a header of the answer, if there are any."""
    told = _told(warnings)
    return {HEADER: json.dumps(told)} if told else {}


def in_event(warnings: Sequence[str], event: bytes) -> bytes:
    """As one more member of an event, where there is no header. Clients read past what they do not know."""
    told = _told(warnings)
    return event[:-1] + f',"{MEMBER}":{json.dumps(told)}}}'.encode() if told else event


def _told(warnings: Sequence[str]) -> list[str]:
    told: list[str] = []
    for warning in warnings:
        if sum(map(len, told)) + len(warning) > ROOM:
            told.append(f"and {len(warnings) - len(told)} more, in the server's log")
            break
        told.append(warning)
    return told
