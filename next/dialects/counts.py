"""Numbers that servers report, and estimates where they report none."""

import re

from msgspec import UNSET, UnsetType

from ..types.json import Json, encode
from ..types.response import CacheWriteDetails

_MOST = 1 << 53
"""A larger number is no count of tokens, and JavaScript could not read it."""
_OF_MEDIA = 4_000
"""Characters that a picture or a file counts as, however long its base64 is."""
_MEDIA = re.compile(rb'"(?:image_url|url|data|file_data|result)":"([^"]{4000,})"')


def count(counts: Json, name: str) -> int:
    """The value of a field as a whole number; 0 if it is missing, no number or negative."""
    number = counts.get(name)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return number if type(number) is int and 0 < number < _MOST else 0


def cache_writes(short: int, long: int) -> CacheWriteDetails | UnsetType:
    """The tokens that a cache keeps for a short and for a long time."""
    return CacheWriteDetails(ttl_30m_tokens=short, ttl_12h_tokens=long) if short or long else UNSET


def tokens_in(body: Json, read: tuple[str, ...]) -> int:
    """Estimated tokens of these fields: four characters each, and a thousand for each picture or file."""
    text = b"".join([encode(body[name]) for name in read if name in body])
    return (len(text) - sum(len(found) - _OF_MEDIA for found in _MEDIA.findall(text))) // 4 + 1
