"""A line for the terminal without keys, and without what steers a terminal."""

from collections.abc import Iterable
from typing import Final

from app.settings import Upstream

SHORTEST_KEY: Final = 8
"""Characters. What is shorter opens nothing (`none`, `ollama`), and taking it out would garble our own words."""


def harmless(line: str, upstreams: Iterable[Upstream]) -> str:
    """The line, in which an upstream may have written one of these keys, or control characters."""
    for upstream in upstreams:
        key = "" if upstream.api_key is None else upstream.api_key.reveal()
        if len(key) >= SHORTEST_KEY:
            line = line.replace(key, "…")
    return "".join(letter if letter.isprintable() else "?" for letter in line)
