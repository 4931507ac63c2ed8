"""The line of a turn for people: time, status, model and upstream, tokens, times, what was left out, request id.

Theory of operation
-------------------
The width of each column depends on the terminal alone, so that the lines of all turns are aligned. A narrow terminal
has fewer columns: first the request id goes, then cached tokens, the time to the first word, the tokens, and the total
time. A turn that failed has no tokens and no times worth reading: its cause takes their place.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from unicodedata import category, east_asian_width

from .style import Style, painted, plain

_GAP: Final = "  "
_WIDE: Final = 120
"""The width that shows all columns, and that is used where there is no terminal."""
_WITH_TOKENS, _WITH_FIRST, _WITH_ID, _WITH_CACHED = 66, 92, 100, 112
"""The narrowest terminals with these columns."""
_TOKENS, _TIMES, _TOTAL, _CACHED = 12, 15, 6, 11
"""Widths of columns."""
_ROUTE, _WIDEST_ROUTE = 20, 44
_SHORT_ID: Final = 6
"""Letters of a request id on a terminal: its end differs most."""
_SEARCHED: Final = 50
"""Warnings that are looked at."""
_SPAN: Final = 400
"""Characters of a text that are shown."""
_TOOL: Final = re.compile(r"tools\[\d+\] was left out: its type '([^']{1,60})'")
_THOUSAND: Final = 1000
_ENDED: Final[Mapping[str, str]] = {"failed": "fail", "disconnected": "gone", "incomplete": "cut"}
"""How a turn ended -> what its line shows in place of a status of 200."""
_BAD: Final = frozenset({"failed", "refused"})
_OK: Final = 200


class TurnEnd(NamedTuple):
    """What the line shows of a turn."""

    fields: Mapping[str, Any]
    """The fields of its log line."""
    more: Mapping[str, Any]
    """What only people are shown: the cause of a failure in words, the number of cached tokens."""

    @property
    def status(self) -> str:
        """The HTTP status, or how an answer ended that began with status 200."""
        status = self.fields.get("status", _OK)
        short = _ENDED.get(str(self.fields.get("finish")))
        return short if short and status == _OK else str(status)

    @property
    def has_failed(self) -> bool:
        """Whether the client got an error."""
        return self.fields.get("finish") in _BAD

    @property
    def style(self) -> Style:
        """The colour of the status."""
        if self.has_failed:
            return "yellow"
        return "green" if self.fields.get("finish") in {"completed", "counted", "searched"} else "cyan"

    @property
    def route(self) -> tuple[str, str]:
        """The model and the upstream."""
        return str(self.fields.get("model", "")), str(self.fields.get("upstream", ""))

    @property
    def tokens(self) -> str:
        """`5.9k → 28`; empty if nothing was counted."""
        if "input_tokens" not in self.fields:
            return ""
        return f"{_count(self.fields['input_tokens'])} → {_count(self.fields['output_tokens'])}"

    @property
    def cached(self) -> str:
        """`4.1k cached`."""
        cached = self.more.get("cached_tokens", 0)
        return f"{_count(cached)} cached" if cached else ""

    @property
    def first(self) -> str:
        """The time to the first word."""
        return _time(self.fields["first_token_ms"]) if "first_token_ms" in self.fields else ""

    @property
    def total(self) -> str:
        """The duration."""
        return _time(self.fields.get("duration_ms", 0))

    @property
    def cause(self) -> str:
        """Why it failed."""
        fields, more = self.fields, self.more
        cause = more.get("cause") or fields.get("problem")
        if not cause:
            words = (fields.get("error", ""), more.get("param", ""))
            cause = ": ".join(str(word) for word in words if word)
        tries = sum(fields.get("retries", {}).values())
        return f"{cause} (tried {_times(tries + 1)})" if tries and self.has_failed else str(cause)

    @property
    def note(self) -> str:
        """What was searched, where the answer was cut, and what was left out of the request or the answer."""
        notes = []
        if self.fields.get("finish") == "searched":
            count = self.fields.get("results", 0)
            notes.append(f"{count} result{'' if count == 1 else 's'}")
        if failed := self.fields.get("failed_commands"):
            notes.append(f"{failed} failed")
        if "reason" in self.fields:
            notes.append(f"cut by {self.fields['reason']}")
        if self.fields.get("retries"):
            notes.append(f"after {', '.join(map(str, self.fields['retries']))} failed")
        if warnings := self.fields.get("warnings"):
            notes.append(_left_out(list(warnings)))
        return "; ".join(notes)


def turn_line(end: TurnEnd, clock: str, *, columns: int | None, colour: bool) -> str:
    """The line of this turn for a terminal of so many columns; None: for a file, where nothing is cut."""
    width = columns or _WIDE
    room = min(_ROUTE + max(0, width - 106) // 2, _WIDEST_ROUTE)
    request_id = str(end.fields.get("request_id", ""))
    last = request_id if columns is None else _ending(request_id) if width >= _WITH_ID else ""
    cells: list[tuple[str, tuple[Style, ...]]] = [
        (clock, ("dim",)),
        (_padded(end.status, 4), (end.style,)),
        (_padded(_route(*end.route, room if columns else _SPAN), room), ()),
    ]
    if not end.has_failed:
        if width >= _WITH_TOKENS:
            cells.append((_padded(end.tokens, _TOKENS), ()))
        if width >= _WITH_CACHED:
            cells.append((_padded(end.cached, _CACHED), ("dim",)))
        with_first = width >= _WITH_FIRST
        times = f"{end.first} / {end.total}" if with_first and end.first else end.total
        cells.append((_padded(times, _TIMES if with_first else _TOTAL), ("dim",)))
    text = end.cause if end.has_failed else end.note
    used = sum(cells_of(cell) + len(_GAP) for cell, _ in cells)
    free = width - used - (len(_GAP) + len(last) if last else 0)
    text = plain(text[:_SPAN])
    if columns is not None:
        text = _cut(text, max(free, 0))
    cells.append((_padded(text, max(free, 0)) if last else text, ("yellow",) if end.has_failed else ()))
    if last:
        cells.append((last, ("dim",)))
    line = _GAP.join(painted(cell, *styles, colour=colour) for cell, styles in cells)
    return line.rstrip()


def cells_of(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cell(letter) for letter in text)


def _cell(letter: str) -> int:
    if category(letter) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def _cut(text: str, room: int) -> str:
    """The text in at most so many columns, with `…` where its end is missing."""
    if cells_of(text) <= room:
        return text
    kept = ""
    left = room - 1
    for letter in text:
        left -= _cell(letter)
        if left < 0:
            break
        kept += letter
    return f"{kept}…" if room else ""


def _padded(text: str, room: int) -> str:
    return text + " " * (room - cells_of(text))


def _route(model: str, upstream: str, room: int) -> str:
    """`model → upstream`, in which the longer one is cut."""
    model, upstream = plain(model), plain(upstream)
    if not upstream:
        return _cut(model, room)
    left = room - len(" → ")
    half = left // 2
    upstream = _cut(upstream, max(half, left - cells_of(model)))
    return f"{_cut(model, left - cells_of(upstream))} → {upstream}"


def _ending(request_id: str) -> str:
    return request_id if len(request_id) <= _SHORT_ID + 1 else f"…{request_id[-_SHORT_ID:]}"


def _count(number: int) -> str:
    """`28`, `5.9k`, `128k`, `1.2M`."""
    for unit, size in (("M", _THOUSAND**2), ("k", _THOUSAND)):
        if number >= size:
            value = number / size
            return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.1f}{unit}"  # noqa: PLR2004 — three digits
    return str(number)


def _time(milliseconds: float) -> str:
    """`5 ms`, `0.57 s`, `12.3 s`, `3:20`, `1.7 h`."""
    if milliseconds < 100:  # noqa: PLR2004 — two digits
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / _THOUSAND
    if seconds < 9.995:  # noqa: PLR2004 — two digits after the point
        return f"{seconds:.2f} s"
    if seconds < 99.95:  # noqa: PLR2004 — one digit after it
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}" if whole < 100 * 60 else f"{whole / 3600:.1f} h"


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"  # noqa: PLR2004 — the word for it


def _left_out(warnings: Sequence[str]) -> str:
    """What the warnings are about: the types of tools that were left out, or the first warning."""
    found = [_TOOL.match(warning) for warning in warnings[:_SEARCHED]]
    tools = list(dict.fromkeys(tool[1] for tool in found if tool))
    others = [warning for warning, tool in zip(warnings, found, strict=False) if not tool]
    words = f"left out: {', '.join(tools)}" if tools else others.pop(0)
    rest = len(others) + max(0, len(warnings) - _SEARCHED)
    return f"{words} (+{rest})" if rest else words
