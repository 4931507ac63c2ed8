"""The warnings of a turn as text: for a header of its answer, for an event, and for the log. All are bounded."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from ..protocol.warnings import ClientWarning

HEADER: Final = "x-am-warnings"
MEMBER: Final = "x_am_warnings"
ROOM: Final = 4000
"""Bytes of warnings in a header: servers and proxies refuse more than about 8,000 in all."""
MOST: Final = 100
"""Warnings of one turn that are sent or logged; the others are counted."""
LONGEST: Final = 500
"""Characters of one."""


def in_header(warnings: Sequence[ClientWarning]) -> dict[str, str]:
    """The warnings as a header of the answer; empty if there are none."""
    sentences = _within_room(warnings)
    return {HEADER: json.dumps(sentences)} if sentences else {}


def in_event(warnings: Sequence[ClientWarning], event: bytes) -> bytes:
    """The event with the warnings as one more member, where there is no header. Clients ignore unknown members."""
    sentences = _within_room(warnings)
    return event[:-1] + f',"{MEMBER}":{json.dumps(sentences)}}}'.encode() if sentences else event


def not_told(warnings: Sequence[ClientWarning], told: Sequence[ClientWarning]) -> list[ClientWarning]:
    """Those of the warnings that were not told: an upstream that was asked again may have caused more."""
    known = {*told}
    return [warning for warning in warnings if warning not in known]


def bounded(warnings: Sequence[ClientWarning]) -> list[str]:
    """The sentences of the first warnings, none of them long, and how many more there are."""
    first = list(_sentences(warnings))
    return first if len(warnings) <= MOST else [*first, f"and {len(warnings) - MOST} more"]


def _within_room(warnings: Sequence[ClientWarning]) -> list[str]:
    sentences: list[str] = []
    room = ROOM
    for sentence in _sentences(warnings):
        room -= len(json.dumps(sentence)) + len(", ")  # as it is written: a character outside ASCII takes six bytes
        if room < 0:
            break
        sentences.append(sentence)
    if len(sentences) < len(warnings):
        sentences.append(f"and {len(warnings) - len(sentences)} more, in the server's log")
    return sentences


def _sentences(warnings: Sequence[ClientWarning]) -> Iterable[str]:
    for warning in warnings[:MOST]:
        details = warning.details
        yield details if len(details) <= LONGEST else f"{details[: LONGEST - 1]}…"
