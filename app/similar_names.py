"""The known name that a mistyped one probably means."""

from bisect import bisect
from collections.abc import Iterable
from typing import Final

MOST_COMPARED: Final = 100
"""Of more names, only the nearest in the alphabet are compared: a comparison of two long names takes 0.1 ms."""


def similar(name: str, known: Iterable[str]) -> str | None:
    """The most similar of the known names, whatever its capital letters; None if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 — for mistakes alone

    by_small_letters = {each.lower(): each for each in known}
    small, names = name.lower(), [*by_small_letters]
    if len(names) > MOST_COMPARED:
        names.sort()
        place = bisect(names, small)
        names = names[max(place - MOST_COMPARED // 2, 0) : place + MOST_COMPARED // 2]
    close = get_close_matches(small, names, n=1)
    return by_small_letters[close[0]] if close else None
