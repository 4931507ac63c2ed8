"""Where a prompt is marked for caches that keep it only up to a mark, as Claude's does.

A mark caches all before it: tools, system prompt, messages, in this order. A request may have four marks.

    where                                        why
    the parts that the client marked             it knows best; the latest three, or four if it wants no others
    the last message of the user                 the next turn reads the prompt up to here
    the message of the user before that          it was the last one in the turn before: this turn reads up to here
    the system prompt                            other conversations read up to here
    the tools                                    conversations with another system prompt read up to here

The last three are stable from turn to turn. The server also looks for a cached prompt in the twenty blocks before a
mark, but one turn may hold more blocks, so the second mark is needed.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ..options import ModelOptions
from ..prompt.nouns import Caching

Json = dict[str, Any]
End: TypeAlias = tuple[int, int]
"""The end of a part of a body, in the dialect's own numbers."""

MARKED: Final = "cache_control"
"""The key of a mark."""
MOST_MARKS: Final = 4
MOST_OF_CLIENT: Final = 3
"""Marks of the client in addition to others."""


def cache_mark(model: ModelOptions, caching: Caching, *, by_default: bool) -> Json | None:
    """The value of a mark; None if nothing is to be cached."""
    if model.cache_control == "off" or (model.cache_control is None and not by_default):
        return None
    lasts = "1h" if caching.long else model.cache_ttl
    return {"type": "ephemeral"} if lasts == "5m" else {"type": "ephemeral", "ttl": lasts}


def ends_to_mark(of_client: Sequence[End], users: Sequence[End], first: Sequence[End], *, automatic: bool) -> list[End]:
    """The ends that get a mark. `automatic`: not only those that the client chose.

    `users` are the ends of the user's messages, and `first` those of the system prompt and the tools.
    """
    if not automatic:
        return list(of_client[-MOST_MARKS:])
    wanted = (*of_client[-MOST_OF_CLIENT:], *reversed(users[-2:]), *first)
    return list(dict.fromkeys(wanted))[:MOST_MARKS]
