"""`am-proxy keys create`: prints a key for a client, and its table for the configuration."""

import json
import secrets
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256

from .style import harmless

_PREFIX = "am-"
"""Scanners for leaked keys, and our own log, recognize a key by it."""
_BYTES = 32
"""256 random bits cannot be guessed, so an unsalted SHA-256 of them is safe."""


def create(name: str, models: Sequence[str], *, token: Callable[[int], str] = secrets.token_urlsafe) -> int:
    """Print a new key and its table for the configuration. Nothing is stored. Returns 2 for a bad name."""
    for word in (name, *models):
        if not word or word != word.strip() or not word.isprintable():
            message = f'"{harmless(word)}" is not a name: it is empty, or has characters that cannot be seen'
            print(f"am-proxy: {message}", file=sys.stderr)
            return 2
    key = f"{_PREFIX}{token(_BYTES)}"
    print(f"""\
The client's key, printed only once (`Authorization: Bearer <key>`):

{key}

Its table for am-proxy.toml:

{table(name, key, models)}""")
    return 0


def table(name: str, key: str, models: Sequence[str]) -> str:
    """The key as a table of the configuration: its digest, never itself."""
    digest = sha256(key.encode()).hexdigest()
    fields = {"name": name, "sha256": digest, "models": list(models)}
    return "\n".join(
        ["[[keys]]", *(f"{field} = {json.dumps(value, ensure_ascii=False)}" for field, value in fields.items())]
    )
