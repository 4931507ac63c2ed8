"""Marks the messages and parts up to which a prompt is cached, for servers that cache it only up to a mark."""

from itertools import takewhile
from typing import Any, Final

from ..cached_ends import MARKED, End, ends_to_mark

Json = dict[str, Any]

TOOLS: Final = -1
"""The number of the tools, in place of that of a message."""
_OF_USER: Final = frozenset({"user", "tool"})
"""Roles of the messages that Claude gets as messages of the user, those in a row as one."""


def mark_to_cache(tools: list[Json], messages: list[Json], mark: Json, *, automatic: bool, in_full: bool) -> None:
    """Puts the mark where it is needed. `automatic`: not only where the client did.

    `in_full`: tools and whole outputs of calls can be marked, too. Other servers look for marks at parts of messages.
    """
    of_client = [(row, at) for row, message in enumerate(messages) for at in _marked_by_client(message)]
    head = len(list(takewhile(lambda message: message["role"] == "system", messages)))
    first = [_end(messages, head - 1)] if head else []
    if tools and in_full:
        first.append((TOOLS, len(tools) - 1))
    for row, at in ends_to_mark(of_client, _turns_of_user(messages), first, automatic=automatic):
        if row == TOOLS:
            tools[at][MARKED] = dict(mark)
        elif in_full and messages[row]["role"] == "tool":
            messages[row][MARKED] = dict(mark)
        else:
            messages[row]["content"] = _marked(messages[row]["content"], at, mark)


def _marked_by_client(message: Json) -> list[int]:
    """Which parts of a message the client marked. These notes are taken off."""
    if message.pop(MARKED, False):
        return [0]
    parts = message["content"] if isinstance(message["content"], list) else []
    return [at for at, part in enumerate(parts) if part.pop(MARKED, False)]


def _turns_of_user(messages: list[Json]) -> list[End]:
    """The ends of the user's turns: of messages of the user and outputs of calls, with nothing of the model between."""
    rows = [row for row, message in enumerate(messages) if message["role"] != "system"]
    after = [messages[row]["role"] for row in rows[1:]] + ["assistant"]
    return [
        _end(messages, row)
        for row, then in zip(rows, after, strict=True)
        if messages[row]["role"] in _OF_USER and then not in _OF_USER and not _is_blank(messages[row])
    ]


def _is_blank(message: Json) -> bool:
    """Whether this is nothing but white space, which Claude refuses: with a mark, it would not be seen."""
    content = message["content"]
    return isinstance(content, str) and not content.strip()


def _end(messages: list[Json], row: int) -> End:
    content = messages[row]["content"]
    return (row, len(content) - 1 if isinstance(content, list) else 0)


def _marked(content: str | list[Json], at: int, mark: Json) -> list[Json]:
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts[at] = {**parts[at], MARKED: dict(mark)}
    return parts
