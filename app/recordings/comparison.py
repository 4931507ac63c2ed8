"""Compares two recordings of one request: what was asked, what the client got, and how the turn ended.

Ids, times and sizes differ each time. So each id counts as its place in the order of ids, times are left out, and so
are keep-alives and encrypted content.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from .blotted import blotted
from .recording import Recording

MOST: Final = 20
"""Differences of one recording that are returned."""
_OWN_ID: Final = re.compile(r"\b[a-z]+_AM-[A-Za-z0-9_-]+")
_LIMITS: Final = re.compile(r"\bgiven [0-9.]+ seconds|https?://[^\s,;]+")
"""In an error: a time limit, and the address of an upstream."""
_VARYING: Final = frozenset({"at", "completed_at", "created_at", "obfuscation", "sequence_number"})
_ENCRYPTED: Final = "encrypted_content"
_LEFT_OUT: Final = "bGVmdCBvdXQ6"
"""What is in the place of an image that was downloaded, and then left out."""
_OUTCOME: Final = ("finish", "status", "error", "reason", "warnings")
_MISSING: Final = "(nothing)"
_LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_BY_CLIENT: Final = frozenset({"disconnected", "interrupted", "steered", "cancelled"})
"""How a turn ended that its client ended: it is compared up to there."""


class Difference(NamedTuple):
    """Where two recordings differ first, in one ask or event."""

    where: str
    recorded: Any
    now: Any


def compared(recorded: Recording, now: Recording) -> list[Difference]:
    """The differences of two recordings of one request, at most `MOST`."""
    found: list[Difference] = []
    for difference in _differences(recorded, now):
        found.append(difference)
        if len(found) == MOST:
            break
    return found


def first_difference(before: Any, now: Any, path: str = "") -> Difference | None:
    """The first place at which two JSON values differ; None if they are equal."""
    if type(before) is type(now):
        match before:
            case dict():
                for key in dict.fromkeys([*before, *now]):
                    inner = f"{path}.{key}" if path else str(key)
                    if found := first_difference(before.get(key, _MISSING), now.get(key, _MISSING), inner):
                        return found
                return None
            case list():
                for index, (old, new) in enumerate(zip_longest(before, now, fillvalue=_MISSING)):
                    if found := first_difference(old, new, f"{path}[{index}]"):
                        return found
                return None
            case _:
                pass
    return None if before == now or _is_downloaded(before, now) else Difference(path, before, now)


def ended_by_client(recording: Recording) -> bool:
    """Whether its client ended the turn: it left, or interrupted or steered the response."""
    outcome = recording.about.outcome
    return not _BY_CLIENT.isdisjoint({str(outcome.get("finish")), str(outcome.get("reason"))})


def _differences(recorded: Recording, now: Recording) -> Iterator[Difference]:
    yield from _of_asks(recorded, now)
    by_client = ended_by_client(recorded)
    varies = any(each.about.outcome.get("usage") == "estimated" for each in (recorded, now))
    events = _lines(_without_end(recorded) if by_client else recorded, usage_varies=varies)
    new_events = _lines(now, usage_varies=varies)
    if by_client:
        new_events = new_events[: len(events)]
    for number, (old, new) in enumerate(zip_longest(events, new_events, fillvalue=None), 1):
        if old is None or new is None:
            yield Difference(f"event {number}", _name(old), _name(new))
        elif found := first_difference(old, new):
            yield found._replace(where=f"event {number}, {found.where}")
    if not by_client:
        before, after = ({name: each.about.outcome.get(name) for name in _OUTCOME} for each in (recorded, now))
        if found := first_difference(before, after):
            yield found._replace(where=f"outcome, {found.where}")


def _of_asks(recorded: Recording, now: Recording) -> Iterator[Difference]:
    for number, (old, new) in enumerate(zip_longest(recorded.exchanges, now.exchanges, fillvalue=None), 1):
        before, after = (each and f"to {each.upstream}" for each in (old, new))
        if old is None or new is None or before != after:
            yield Difference(f"ask {number}", before, after)
        elif found := first_difference(plain_ask(old.ask), plain_ask(new.ask)):
            yield found._replace(where=f"ask {number}, {found.where}")


def plain_ask(ask: Any) -> Any:
    """An ask as it is compared: without what no recording keeps, and with ids of AM Proxy numbered in their order."""
    return _Plain().of(blotted(ask), keeps=True)


def _lines(recording: Recording, *, usage_varies: bool) -> list[Any]:
    """What the client got, without what varies."""
    plain = _Plain(usage_varies=usage_varies)
    lines: list[Any] = []
    for line in recording.events:
        if line.refused is not None:
            lines.append({"refused": plain.of(line.refused)})
        elif line.event is not None and not _is_keep_alive(line.event, after=len(lines)):
            lines.append(plain.of(blotted(line.event)))
    return lines


class _Plain:
    """Removes what varies. The ids of one answer are numbered in their order."""

    def __init__(self, *, usage_varies: bool = False) -> None:
        """`usage_varies`: it was estimated from the length of the request, of which some is left out."""
        self._ids: dict[str, str] = {}
        self._usage_varies = usage_varies

    def of(self, value: Any, *, keeps: bool = False) -> Any:
        """The same JSON. `keeps`: members are kept whose values vary in events."""
        match value:
            case dict():
                return {
                    key: self._member(key, member, keeps=keeps)
                    for key, member in value.items()
                    if keeps or key not in _VARYING
                }
            case list():
                return [self.of(member, keeps=keeps) for member in value]
            case str():
                return value if "_AM-" not in value else _OWN_ID.sub(lambda found: self._number(found[0]), value)
            case _:
                return value

    def _member(self, key: str, value: Any, *, keeps: bool) -> Any:
        if key == _ENCRYPTED and value:
            return "(encrypted)"
        if key == "usage" and value and self._usage_varies:
            return "(estimated)"
        if key == "error" and isinstance(value, dict) and isinstance(value.get("message"), str):
            return {**value, "message": _LIMITS.sub("(…)", value["message"])}
        return self.of(value, keeps=keeps)

    def _number(self, name: str) -> str:
        prefix = name.partition("_AM-")[0]
        return self._ids.setdefault(name, f"{prefix}_{len(self._ids) + 1}")


def _is_downloaded(before: Any, now: Any) -> bool:
    """Whether this is an image that AM Proxy downloaded then, and would download now."""
    both = isinstance(before, str) and isinstance(now, str)
    return both and _LEFT_OUT in before and now.startswith("http")


def _is_keep_alive(event: dict[str, Any], *, after: int) -> bool:
    """Whether the event only shows that the turn still runs. `after`: how many other events came before."""
    kind = str(event.get("type"))
    return (kind == "response.in_progress" and after > 1) or (kind.endswith(".delta") and event.get("delta") == "")


def _without_end(recording: Recording) -> Recording:
    """The recording without the last events of a turn that its client ended: those of one moment."""
    last = recording.events[-1] if recording.events else None
    if last is None or (last.event or {}).get("type") not in _LAST:
        return recording
    return recording._replace(events=[line for line in recording.events if line.at < last.at])


def _name(line: dict[str, Any] | None) -> str | None:
    return None if line is None else str(line.get("type", "the refusal"))
