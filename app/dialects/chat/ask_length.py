"""How long a chat ask is, roughly: for upstreams that count nothing themselves."""

from typing import Any, Final

import msgspec

CHARACTERS_PER_TOKEN: Final = 4
"""A rough mean over languages and code."""
CHARACTERS_OF_MEDIA: Final = 4_000
"""What a picture or file counts for: about a thousand tokens."""


def tokens_of(ask: dict[str, Any]) -> int:
    """An estimate of what the model reads: messages and tools."""
    tools = len(msgspec.json.encode(ask["tools"])) if "tools" in ask else 0
    return (_characters(ask["messages"]) + tools) // CHARACTERS_PER_TOKEN + 1


def _characters(messages: list[dict[str, Any]]) -> int:
    """How many characters count. A picture counts as any other, however long it is in base64."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    held = [part.get(part["type"]) for part in parts if part["type"] != "text"]
    long = [
        len(value)
        for media in held
        if isinstance(media, dict)
        for value in media.values()
        if isinstance(value, str) and len(value) > CHARACTERS_OF_MEDIA
    ]
    return len(msgspec.json.encode(messages)) - sum(long) + len(long) * CHARACTERS_OF_MEDIA
