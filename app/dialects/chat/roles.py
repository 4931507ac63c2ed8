"""Rewrites messages for chat templates that require user and assistant messages to alternate."""

from collections.abc import Iterable
from itertools import groupby, takewhile
from typing import Any, Final

from ...protocol.warnings import ClientWarning
from .chat_messages import ChatMessage

Json = dict[str, Any]

REQUIRE_ALTERNATION: Final = ("gemma",)
"""Parts of the names of models whose templates are known to require it."""


def must_alternate(model: str, setting: bool | None) -> bool:  # noqa: FBT001 — the operator's own value
    """Whether roles must alternate for this model: as the configuration says, else as its name does."""
    return any(piece in model.lower() for piece in REQUIRE_ALTERNATION) if setting is None else setting


def alternating(messages: list[ChatMessage]) -> tuple[list[ChatMessage], list[ClientWarning]]:
    """The messages with at most one system message, at the beginning, and no two user messages in a row.

    Later system messages are sent as user messages, with a warning.
    """
    head = len(list(takewhile(lambda message: message["role"] == "system", messages)))
    late = sum(message["role"] == "system" for message in messages[head:])
    warnings: list[ClientWarning] = []
    if late:
        reason = "this model takes system messages at the beginning only"
        details = f"System messages after the beginning are sent as user messages ({late}): {reason}."
        warnings.append(ClientWarning("input", "system messages", details))
    mixed = [*messages[:head], *[_as_user(message) for message in messages[head:]]]
    return [_merged(role, group) for role, group in _runs(mixed)], warnings


def _runs(messages: list[ChatMessage]) -> Iterable[tuple[str, list[ChatMessage]]]:
    """Groups of messages that become one: neighbours of the same role, except assistant and tool messages."""
    for role, group in groupby(messages, key=lambda message: str(message["role"])):
        if role in {"system", "user"}:
            yield role, list(group)
        else:
            yield from ((role, [message]) for message in group)


def _as_user(message: ChatMessage) -> ChatMessage:
    return {**message, "role": "user"} if message["role"] == "system" else message


def _merged(role: str, messages: list[ChatMessage]) -> ChatMessage:
    if len(messages) == 1:
        return messages[0]
    contents = [message["content"] for message in messages]
    if all(isinstance(content, str) for content in contents):
        return {"role": role, "content": "\n\n".join(contents)}
    return {"role": role, "content": [part for content in contents for part in _parts(content)]}


def _parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
