"""Prints the line of the configuration that a mistake is in, with marks under what is wrong."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from ..key_search import redacted_line
from ..settings import Excerpt
from .style import harmless, painted

_CUT: Final = "…"
_LONGEST: Final = 1000
"""Characters beside the mistake that are looked at: more than a terminal has columns."""


def excerpt_lines(excerpt: Excerpt, columns: int, *, colour: bool = False) -> Iterator[str]:
    """The two lines, in so many columns: a long line is cut around the mistake."""
    start, end = excerpt.start, excerpt.start + excerpt.length
    before = _shown(excerpt.text[max(0, start - _LONGEST) : start])
    wrong = _shown(excerpt.text[start:end][:_LONGEST])
    after = _shown(excerpt.text[end : end + _LONGEST])
    number, bar = f"{excerpt.line:>4}", painted("|", "blue", colour=colour)
    room = columns - len(f"{number} | ")
    wrong = _head(wrong, max(1, room - 2 * len(_CUT))) or " "
    if _width(before + wrong + after) > room:
        kept = min(_width(after), max(len(_CUT), (room - _width(wrong)) // 3))
        before = _head(before[::-1], room - _width(wrong) - kept)[::-1]
        after = _head(after, room - _width(before + wrong))
    marks = painted("^" * _width(wrong), "bold", "red", colour=colour)
    yield f"{painted(number, 'blue', colour=colour)} {bar} {before}{wrong}{after}".rstrip()
    yield f"{'':{len(number)}} {bar} {'':{_width(before)}}{marks}"


def _shown(text: str) -> str:
    return redacted_line(harmless(text.replace("\t", " ")))


def _width(text: str) -> int:
    """The columns that a text takes."""
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def _head(text: str, columns: int) -> str:
    """The beginning of a text, cut to so many columns."""
    if _width(text) <= columns:
        return text
    shown, left = "", columns - len(_CUT)
    for letter in text:
        left -= _columns(letter)
        if left < 0:
            break
        shown += letter
    return shown + _CUT if columns > 0 else ""
