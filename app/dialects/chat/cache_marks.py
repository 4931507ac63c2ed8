"""Adds `cache_control` marks, for servers that cache a prompt only up to a mark: Anthropic and its proxies."""

from typing import Any, Final

Json = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
ROLES: Final = frozenset({"user", "tool"})
"""Roles of the messages that may be marked at the end of a conversation."""
LAST: Final = 2
"""How many of them are marked, counted from the end. The first of two was the last one in the request before."""


def marked(messages: list[Json]) -> list[Json]:
    """The messages, with marks so that the first system message and the conversation so far are cached."""
    marks = {index for index, message in enumerate(messages[:1]) if message["role"] == "system"}
    marks.update([index for index, message in enumerate(messages) if message["role"] in ROLES][-LAST:])
    return [_marked(message) if index in marks else message for index, message in enumerate(messages)]


def _marked(message: Json) -> Json:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": dict(MARK)}]}
