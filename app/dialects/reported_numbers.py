"""Reads numbers that upstreams report."""

from typing import Any, Final

IMPOSSIBLE_NUMBER: Final = 1e15
"""No real number is as large. NaN, infinity and numbers that clients cannot store are excluded too."""


def count(counts: Any, name: str) -> int:
    """The value of a field as a whole number; 0 if it is missing, no number or negative."""
    value = counts.get(name) if isinstance(counts, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < IMPOSSIBLE_NUMBER else 0
