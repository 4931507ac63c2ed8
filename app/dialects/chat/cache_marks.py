"""Marks for servers that cache a prompt only where they are told to: Anthropic's, and those that lead to it."""

from typing import Any, Final

Json = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
ROLES: Final = frozenset({"user", "tool"})
"""Messages that are marked at the end of a conversation: the last two, of which the first was the end before."""
LAST: Final = 2


def marked(messages: list[Json]) -> list[Json]:
    """The same messages: what stands at the head is to be cached, and what has been said up to now."""
    seats = [seat for seat, message in enumerate(messages) if message["role"] in ROLES][-LAST:]
    head = [seat for seat, message in enumerate(messages) if message["role"] == "system" and seat == 0]
    return [_marked(message) if seat in {*head, *seats} else message for seat, message in enumerate(messages)]


def _marked(message: Json) -> Json:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": dict(MARK)}]}
