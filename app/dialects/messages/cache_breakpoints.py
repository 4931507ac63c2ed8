"""Marks up to which block the server caches a prompt.

A mark at a block caches all before it: tools, system prompt, messages, in this order. A request may have four marks.

    where                                        why
    the parts that the client marked             it knows best; the latest three, or four if it wants no others
    the last message of the user                 the next turn reads the prompt up to here
    the message of the user before that          it was the last one in the turn before: this turn reads up to here
    the system prompt                            other conversations read up to here
    the tools                                    conversations with another system prompt read up to here

The last three are stable from turn to turn. The server also looks for a cached prompt in the twenty blocks before a
mark, but one turn may hold more blocks, so the second mark is needed.
"""

from typing import Any, Final

from ...options import ModelOptions
from ...prompt.nouns import Caching
from .content_blocks import MARKED

Json = dict[str, Any]

MOST_MARKS: Final = 4
MOST_OF_CLIENT: Final = 3
"""Marks of the client in addition to others."""


def cache_mark(model: ModelOptions, caching: Caching, *, is_claude: bool) -> Json | None:
    """The value of a mark; None if nothing is to be cached."""
    if model.cache_control == "off" or (model.cache_control is None and not is_claude):
        return None
    lasts = "1h" if caching.long else model.cache_ttl
    return {"type": "ephemeral"} if lasts == "5m" else {"type": "ephemeral", "ttl": lasts}


def mark_to_cache(
    tools: list[Json], system: list[Json], messages: list[Json], mark: Json | None, *, automatic: bool
) -> None:
    """Puts the mark where it is needed. `automatic`: not only where the client did."""
    ends: list[tuple[list[Json], int]] = []
    for message in messages:
        content = message["content"]
        ends += [(content, index) for index, block in enumerate(content) if block.pop(MARKED, False)]
    if mark is None:
        return
    ends = ends[-(MOST_OF_CLIENT if automatic else MOST_MARKS) :]
    if automatic:
        users = [message["content"] for message in messages if message["role"] == "user"]
        wanted = [*reversed(users[-2:]), system, tools]
        taken = {(id(blocks), index) for blocks, index in ends}
        ends += [(blocks, last) for blocks in wanted if blocks and (id(blocks), last := len(blocks) - 1) not in taken]
    for blocks, index in ends[:MOST_MARKS]:
        blocks[index] = {**blocks[index], MARKED: mark}
