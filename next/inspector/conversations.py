"""Which turns belong together, and what changed from one to the next: nothing but their own content says so.

A turn goes on from another one if its input begins with that one's input and answer; if it names that one's response,
as a websocket does; or if it has a summary that is the other's answer. Where a turn has no answer, or another one is
wanted, the same input goes on from it, too, unless it is so short that others may have sent the same. Where the content
says nothing, a UUID in `prompt_cache_key` does: Codex sums up by itself, and calls its conversations so.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..observe.record import Kept
from ..observe.shown import Facts, facts_of, items_of, request_of, row, told
from ..types.json import Json
from ..types.redact import redacted, redacted_text

_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMPARED_APART = frozenset({"input", "instructions", "previous_response_id", "tools", "type"})
_AROUND = 60
"""Bytes on each side of a difference that are shown."""
_WINDOW = 600
_DATA = re.compile(r"[A-Za-z0-9+/_=-]{64,}")


class Place(NamedTuple):
    """The place of a turn among others."""

    kept: Kept
    conversation: int
    """The number of its first turn that is kept."""
    since: Kept | None
    """The turn that it goes on from."""
    known: int
    """How many items of its input were there before."""
    continues: bool
    """Whether the input begins with all of that turn, its answer included."""


class _Ends:
    """Where turns left their conversations."""

    def __init__(self) -> None:
        self.answers: dict[int, Place] = {}
        self.inputs: dict[int, Place] = {}
        self.responses: dict[str, Place] = {}
        self.summaries: dict[str, Place] = {}
        self.names: dict[str, Place] = {}

    def add(self, place: Place, facts: Facts) -> None:
        """A turn that others may go on from. What was refused at the door is none."""
        if not place.kept.asks:
            return
        if facts.end is not None:
            self.answers[facts.end] = place
        if facts.chain and (facts.has_answers or (facts.end is None and len(facts.chain) > 1)):
            self.inputs[facts.chain[-1]] = place
        if facts.response_id:
            self.responses[facts.response_id] = place
        self.summaries |= dict.fromkeys(facts.written, place)
        if _NAME.fullmatch(facts.name):
            self.names[facts.name] = place

    def before(self, facts: Facts) -> tuple[Place | None, int, bool]:
        """The turn before one with these facts; how many of its items are known; whether it goes on from the answer."""
        if (place := self.responses.get(facts.previous)) is not None:
            return place, 0, True
        for index in range(len(facts.chain) - 1, -1, -1):
            number = facts.chain[index]
            if number in self.answers:
                return self.answers[number], index + 1, True
            if number in self.inputs:
                return self.inputs[number], index + 1, False
        for summary in facts.summaries & self.summaries.keys():
            return self.summaries[summary], 0, True
        return self.names.get(facts.name), 0, False


def places(turns: Sequence[Kept]) -> list[Place]:
    """The places of these turns, oldest first."""
    ends, found = _Ends(), []
    for kept in turns:
        facts = facts_of(kept)
        before, known, continues = ends.before(facts) if kept.asks else (None, 0, False)
        first = kept.number if before is None else before.conversation
        place = Place(kept, first, None if before is None else before.kept, known, continues)
        ends.add(place, facts)
        found.append(place)
    return found


def rows(turns: Sequence[Kept]) -> list[Json]:
    """The rows of the list."""
    return [{**row(place.kept), "conversation": place.conversation} for place in places(turns)]


def conversation(number: int, turns: Sequence[Kept]) -> list[Json]:
    """The turns of a conversation: what was new in each, its answer, and what changed since the one before."""
    return [_turn(place) for place in places(turns) if place.conversation == number]


def changes(turns: Sequence[Kept], kept: Kept) -> Json | None:
    """What changed in this turn since the one before it; None for the first one."""
    return next((_changes(place) for place in places(turns) if place.kept is kept), None)


def _turn(place: Place) -> Json:
    request, (_, response) = request_of(place.kept), told(place.kept)
    return {
        "row": row(place.kept),
        "new": redacted(items_of(request.get("input"))[place.known :]),
        "output": redacted(items_of(response.get("output"))),
        "instructions": redacted(request.get("instructions")) if place.since is None else None,
        "changes": _changes(place),
    }


def _changes(place: Place) -> Json | None:
    if place.since is None:
        return None
    before, now = request_of(place.since), request_of(place.kept)
    names = [name for name in {**before, **now} if name not in _COMPARED_APART]
    old, new = _tools(before), _tools(now)
    return {
        "since": place.since.number,
        "continues": place.continues,
        "known": place.known,
        "instructions": _changed(before.get("instructions"), now.get("instructions")),
        "tools": {
            "added": [name for name in new if name not in old],
            "removed": [name for name in old if name not in new],
            "changed": [name for name in new if name in old and new[name] != old[name]],
        },
        "settings": [redacted_text(name) for name in names if before.get(name) != now.get(name)],
        "differs": _difference(place.since, place.kept),
    }


def _changed(before: Any, now: Any) -> str:
    if before == now:
        return "same"
    return "added" if before is None else "removed" if now is None else "changed"


def _tools(request: Json) -> dict[str, Any]:
    """Tools by their names; those without one by their type."""
    tools = items_of(request.get("tools"))
    return {
        redacted_text(str(tool.get("name") or tool.get("server_label") or tool.get("type"))): tool for tool in tools
    }


def _difference(before: Kept, now: Kept) -> Json | None:
    """The first byte in which what the same upstream was asked differs: up to there its cache can be used."""
    if not (before.asks and now.asks) or before.asks[-1].upstream != now.asks[-1].upstream:
        return None
    one, two = before.asks[-1].body, now.asks[-1].body
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return {"at": low, "of": len(one), "same": one == two, "before": _around(one, low), "now": _around(two, low)}


def _around(body: bytes, at: int) -> list[str]:
    """The text before and behind this byte, without what looks like keys or data, also where it would be cut."""
    sides = body[max(at - _WINDOW, 0) : at], body[at : at + _WINDOW]
    before, behind = [_DATA.sub("…", redacted_text(side.decode("utf-8", "ignore"))) for side in sides]
    return [before[-_AROUND:], behind[:_AROUND]]


def found(text: str, turns: Sequence[Kept]) -> list[int]:
    """The numbers of the turns in which this text occurs, in whatever letters."""
    sought = text.lower()
    return [kept.number for kept in turns if _has(kept, sought)]


def _has(kept: Kept, sought: str) -> bool:
    """Whether what is shown of it has this text."""
    _, response = told(kept)
    output = [item for item in items_of(response.get("output"))]
    asked = request_of(kept)
    return any(sought in text.lower() for value in (asked, output, kept.fields) for text in _texts(redacted(value)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for entry in value.values() for text in _texts(entry)]
    if isinstance(value, list):
        return [text for entry in value for text in _texts(entry)]
    return [str(value)] if value is not None else []
