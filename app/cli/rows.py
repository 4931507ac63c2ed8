"""Rows for the terminal: a title and words, wrapped on a terminal, without keys and control characters."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Final

from app.settings import Upstream

_SHORTEST_KEY: Final = 8
"""Characters. A shorter one is no secret (`none`, `ollama`), and removing it would garble our own words."""
_NARROWEST: Final = 20
"""Characters in which words are wrapped, however narrow the terminal is."""


def show(title: str, words: str, upstreams: Iterable[Upstream]) -> None:
    """Print a row in which an upstream may have written one of its keys, or control characters."""
    for upstream in upstreams:
        key = "" if upstream.api_key is None else upstream.api_key.reveal()
        if len(key) >= _SHORTEST_KEY:
            words = words.replace(key, "…")
    words = "".join(letter if letter.isprintable() else "?" for letter in words)
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns - len(title), _NARROWEST)
        words = f"\n{' ' * len(title)}".join(textwrap.wrap(words, width, break_long_words=False))
    print(f"{title}{words}".rstrip(), flush=True)
