"""Estimates the tokens of a chat request body, for upstreams that report no usage."""

from typing import Any, Final

import msgspec

CHARACTERS_PER_TOKEN: Final = 4
"""A rough average over languages and code."""
CHARACTERS_OF_MEDIA: Final = 4_000
"""How many characters a picture or a file counts as: about a thousand tokens."""


def tokens_of(ask: dict[str, Any]) -> int:
    """Estimated tokens of what the model reads: messages and tools."""
    tools = len(msgspec.json.encode(ask["tools"])) if "tools" in ask else 0
    return (_characters(ask["messages"]) + tools) // CHARACTERS_PER_TOKEN + 1


def _characters(messages: list[dict[str, Any]]) -> int:
    """Characters of all messages. Every picture counts the same, however long its base64 is."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    media = [part.get(part["type"]) for part in parts if part["type"] != "text"]
    long = [
        len(value)
        for medium in media
        if isinstance(medium, dict)
        for value in medium.values()
        if isinstance(value, str) and len(value) > CHARACTERS_OF_MEDIA
    ]
    return len(msgspec.json.encode(messages)) - sum(long) + len(long) * CHARACTERS_OF_MEDIA
