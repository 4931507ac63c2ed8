"""Text from elsewhere on one line: without control characters, and without letters that nobody sees. Pure."""

import re
import unicodedata
from typing import Final

LONGEST_URL: Final = 2048
"""Characters of the address of a result."""

_SPACES: Final = re.compile(r"\s+")
_JOINERS: Final = frozenset("\u200c\u200d")
"""Letters that nobody sees, but that some scripts and emoji need."""


def on_one_line(text: str) -> str:
    """The text on one line. Other formatting characters, such as those that change its direction, are left out."""
    text = _SPACES.sub(" ", text)
    if not text.isprintable():
        text = _SPACES.sub(" ", "".join(letter if letter.isprintable() else _shown(letter) for letter in text))
    return text.strip()


def _shown(letter: str) -> str:
    if letter in _JOINERS:
        return letter
    return "" if unicodedata.category(letter) == "Cf" else " "
