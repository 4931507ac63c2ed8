"""Reads numbers that upstreams report."""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from ..protocol.response import CacheWriteDetails

IMPOSSIBLE_NUMBER: Final = 1e15
"""No real number is as large. NaN, infinity and numbers that clients cannot store are excluded too."""


def count(counts: Any, name: str) -> int:
    """The value of a field as a whole number; 0 if it is missing, no number or negative."""
    value = counts.get(name) if isinstance(counts, dict) else None
    if not value:  # as most are
        return 0
    return int(value) if isinstance(value, int | float) and 0 < value < IMPOSSIBLE_NUMBER else 0


def cache_writes(short: int, long: int) -> CacheWriteDetails | UnsetType:
    """The tokens that a cache keeps for a short and for a long time."""
    return CacheWriteDetails(ttl_30m_tokens=short, ttl_12h_tokens=long) if short or long else UNSET
