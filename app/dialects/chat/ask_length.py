"""Estimates the tokens of a chat request body, for upstreams that report no usage."""

from typing import Any

from ..body_length import tokens_in


def tokens_of(ask: dict[str, Any]) -> int:
    """Estimated tokens of what the model reads: messages and tools."""
    messages = ask["messages"]
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    media = [part.get(part["type"]) for part in parts if part["type"] != "text"]
    return tokens_in([messages, *([ask["tools"]] if "tools" in ask else [])], media)
