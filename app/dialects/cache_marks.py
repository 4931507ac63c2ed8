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

from ..prompt.nouns import Caching, Model, Prompt, ToolOutput, User
from ..types.json import Json
from ..types.problems import Warnings

End = tuple[int, int]
"""The end of a part of a body, in the dialect's own numbers."""
MARKED = "cache_control"
"""The key of a mark."""
_TTL = "prompt_cache_options.ttl"
_USUAL = "5m"
"""How long a prompt is kept without another word."""
_LONG = frozenset({"1h", "12h", "24h"})
"""What clients say for longer: an hour is the longest that there is."""
_MOST = 4
_MOST_OF_CLIENT = 3
"""Marks of the client in addition to others."""


def cache_mark(model: Model, caching: Caching, *, by_default: bool) -> Json | None:
    """The value of a mark; None if nothing is to be cached."""
    setting = model.settings.cache_control
    if setting == "off" or (setting is None and not by_default):
        return None
    lasts = "1h" if caching.ttl in _LONG else model.settings.cache_ttl or _USUAL
    return {"type": "ephemeral"} if lasts == _USUAL else {"type": "ephemeral", "ttl": lasts}


def unmarked(prompt: Prompt, mark: Json | None) -> Warnings:
    """The warnings about what the client wants of the cache and does not get."""
    caching = prompt.caching
    if mark is not None:
        lasts = mark.get("ttl", _USUAL)
        if caching.ttl in (None, lasts):
            return []
        return [f"'{_TTL}' is sent as '{lasts}': this model's server keeps prompts for five minutes or for an hour."]
    lost = ["prompt_cache_options.mode"] if caching.only_marked else []
    lost += [] if caching.ttl is None else [_TTL]
    parts = [entry.parts for entry in prompt.entries if isinstance(entry, User | ToolOutput)]
    lost += ["prompt_cache_breakpoint"] if any(part.ends_cached for each in parts for part in each) else []
    reason = "has no effect on this model: prompts for it are not marked for a cache."
    return [f"'{name}' {reason}" for name in lost]


def ends_to_mark(of_client: Sequence[End], users: Sequence[End], first: Sequence[End], *, automatic: bool) -> list[End]:
    """The ends that get a mark. `automatic`: not only those that the client chose.

    `users` are the ends of the user's messages, and `first` those of the system prompt and the tools.
    """
    if not automatic:
        return list(of_client[-_MOST:])
    wanted = (*of_client[-_MOST_OF_CLIENT:], *reversed(users[-2:]), *first)
    return list(dict.fromkeys(wanted))[:_MOST]
