"""Marks for servers that cache a prompt only where it is marked: Anthropic's, and those in front of it."""

from typing import Any, Final

Json = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
ROLES: Final = frozenset({"user", "tool"})
"""Messages that are marked at the end of a conversation: the last two, of which the first was the end before."""
LAST: Final = 2


def marked(messages: list[Json]) -> list[Json]:
    """The same messages, marked so that the head is cached, and the conversation up to now."""
    marks = {index for index, message in enumerate(messages[:1]) if message["role"] == "system"}
    marks.update([index for index, message in enumerate(messages) if message["role"] in ROLES][-LAST:])
    return [_marked(message) if index in marks else message for index, message in enumerate(messages)]


def _marked(message: Json) -> Json:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": dict(MARK)}]}
