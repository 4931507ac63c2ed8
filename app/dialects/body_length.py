"""Estimates the tokens of a request body, for upstreams that do not count them."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

CHARACTERS_PER_TOKEN: Final = 4
"""A rough average over languages and code."""
CHARACTERS_OF_MEDIA: Final = 4_000
"""How many characters a picture or a file counts as: about a thousand tokens."""


def tokens_in(read: Iterable[Any], media: Iterable[Any]) -> int:
    """Estimated tokens of what the model reads. Every picture among it counts the same, however long its base64 is.

    `media` are the objects in it that hold the pictures and files.
    """
    long = [
        len(value)
        for medium in media
        if isinstance(medium, dict)
        for value in medium.values()
        if isinstance(value, str) and len(value) > CHARACTERS_OF_MEDIA
    ]
    characters = sum(len(msgspec.json.encode(each)) for each in read)
    return (characters - sum(long) + len(long) * CHARACTERS_OF_MEDIA) // CHARACTERS_PER_TOKEN + 1
