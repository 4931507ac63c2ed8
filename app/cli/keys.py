"""`am-proxy keys create`: a key for a client, shown once, and what the configuration needs to know of it."""

import json
import secrets
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256

_PREFIX = "am-"
"""So that scanners for lost keys, and our own log, know one when they see it."""
_BYTES = 32
"""256 bits: nobody guesses it, and so an unsalted SHA-256 of it gives nothing away."""


def create(name: str, models: Sequence[str], *, token: Callable[[int], str] = secrets.token_urlsafe) -> int:
    """Print a new key and its table for the configuration. Nothing is kept or written. Gives 2 for a bad name."""
    for word in (name, *models):
        if not word or word != word.strip() or not word.isprintable():
            print(f"am-proxy: {word!r} is no name: it is empty, or holds what cannot be seen", file=sys.stderr)
            return 2
    key = f"{_PREFIX}{token(_BYTES)}"
    print(f"""\
The key, for the client, as `Authorization: Bearer <key>`. It is shown this once only:

{key}

What config.toml needs to know of it:

{table(name, key, models)}""")
    return 0


def table(name: str, key: str, models: Sequence[str]) -> str:
    """The key as a table of the configuration: its digest, never itself."""
    digest = sha256(key.encode()).hexdigest()
    told = {"name": name, "sha256": digest, "models": list(models)}
    return "\n".join(
        ["[[keys]]", *(f"{field} = {json.dumps(value, ensure_ascii=False)}" for field, value in told.items())]
    )
