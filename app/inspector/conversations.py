"""Which turns belong together, and what changed from one to the next: nothing but their own content says so.

A turn goes on from another one if its input begins with that one's input and answer, or with its answer, as with a
summary; or if it names that one's response, as a websocket does. Where a turn has no answer, or another one is
wanted, the same input goes on from it, too, unless it is so short that others may have sent the same. Where the content
says nothing, a UUID in `prompt_cache_key` does: Codex sums up by itself, and calls its conversations so.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ..observe.record import Kept
from ..observe.shown import Facts, facts_of, items_of, request_of, row, told
from ..types.json import Json, as_object, decode, encode
from ..types.redact import redacted, redacted_text

_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMPARED_APART = frozenset({"input", "instructions", "previous_response_id", "tools", "type"})
_AROUND = 60
"""Bytes on each side of a difference that are shown."""
_WINDOW = 600
_READ = ("tools", "system", "instructions", "messages", "input")
"""The members of a body that a model reads, in this order."""
_MARK = re.compile(rb',"cache_control":\{[^}]*\}')
"""It moves on with the conversation, and changes nothing before it."""
_DATA = re.compile(r"[A-Za-z0-9+/_=-]{64,}")
_Mark = tuple[str, int | str]
"""What a turn leaves, and another one begins with."""


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
    end: int
    """A number for the conversation up to its end."""


def places(turns: Sequence[Kept]) -> list[Place]:
    """The places of these turns, oldest first."""
    left: dict[_Mark, Place] = {}
    found = []
    for kept in turns:
        facts = facts_of(kept)
        if kept.problem is not None and not kept.asks:  # refused before anything was asked: others send the same
            found.append(Place(kept, kept.number, None, 0, False, 0))
            continue
        given = left.get(("response", facts.previous))
        start = given.end if given else 0
        chain = _chain(facts.items, start)
        mark, known = next((each for each in _begins(facts, chain) if each[0] in left), (None, 0))
        first, since = (left[mark].conversation, left[mark].kept) if mark else (kept.number, None)
        continues = mark is not None and mark[0] in {"answer", "response"}
        end = _chain([*facts.items, *facts.output, 0], start)[-1]
        found.append(place := Place(kept, first, since, known, continues, end))
        left |= dict.fromkeys(_leaves(facts, chain, end), place)
    return found


def _begins(facts: Facts, chain: Sequence[int]) -> Iterator[tuple[_Mark, int]]:
    """By what the turn before one with these facts may be known, the surest first; and how many items it has known."""
    for known in range(len(chain), 0, -1):
        if number := chain[known - 1]:
            yield ("answer", number), known
            yield ("input", number), known
    yield ("response", facts.previous), 0
    yield ("name", facts.name), 0


def _leaves(facts: Facts, chain: Sequence[int], end: int) -> Iterator[_Mark]:
    """By what others may know that they go on from this turn."""
    if facts.output:
        yield "answer", end
        yield "answer", _chain(facts.output, 0)[-1]  # a summary takes the place of what it is about
    if chain and (facts.has_answers or (not facts.output and len(chain) > 1)):
        yield "input", chain[-1]
    if facts.response_id:
        yield "response", facts.response_id
    if _NAME.fullmatch(facts.name):
        yield "name", facts.name


def _chain(items: Sequence[int], start: int) -> list[int]:
    """For each item a number for the conversation up to it."""
    return list(accumulate(items, lambda before, item: hash((before, item)) if item else before, initial=start))[1:]


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
        "new": redacted(items_of(request.get("input"))[place.known :], pictures=True),
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
        "instructions": "same" if before.get("instructions") == now.get("instructions") else "changed",
        "tools": {
            "added": [name for name in new if name not in old],
            "removed": [name for name in old if name not in new],
            "changed": [name for name in new if name in old and new[name] != old[name]],
        },
        "settings": [redacted_text(name) for name in names if before.get(name) != now.get(name)],
        "differs": _difference(place.since, place.kept),
    }


def _tools(request: Json) -> dict[str, Any]:
    """Tools by their names; those without one by their type."""
    tools = items_of(request.get("tools"))
    return {
        redacted_text(str(tool.get("name") or tool.get("server_label") or tool.get("type"))): tool for tool in tools
    }


def _difference(before: Kept, now: Kept) -> Json | None:
    """The first byte in which what the same upstream was given to read differs: up to there its cache can be used."""
    if not (before.asks and now.asks) or before.asks[-1].upstream != now.asks[-1].upstream:
        return None
    one, two = _read(before.asks[-1].body), _read(now.asks[-1].body)
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return {"at": low, "of": len(one), "same": one == two, "before": _around(one, low), "now": _around(two, low)}


def _read(body: bytes) -> bytes:
    """What a model reads of this body, without what ends the last list: another conversation may go on from there."""
    asked = as_object(decode(body))
    return _MARK.sub(b"", b"\n".join([encode(asked[name]) for name in _READ if name in asked]))[:-1]


def _around(body: bytes, at: int) -> list[str]:
    """The text before and behind this byte, without what looks like keys or data, also where it would be cut."""
    sides = body[max(at - _WINDOW, 0) : at], body[at : at + _WINDOW]
    before, behind = [_DATA.sub("…", redacted_text(side.decode("utf-8", "ignore"))) for side in sides]
    return [before[-_AROUND:], behind[:_AROUND]]


def found(text: str, turns: Sequence[Kept]) -> list[int]:
    """The numbers of the turns in which this text occurs, in whatever letters."""
    sought = encode(text).decode()[1:-1].lower()
    return [kept.number for kept in turns if _has(kept, sought)]


def _has(kept: Kept, sought: str) -> bool:
    """Whether what is shown of it has this text, as it stands in JSON."""
    value = [request_of(kept), told(kept)[1].get("output"), {**kept.fields, "cause": ""}]
    return _says(value, sought) and _says(redacted(value), sought)  # to look for keys takes much longer


def _says(value: Any, sought: str) -> bool:
    return sought in encode(value).decode().lower()
