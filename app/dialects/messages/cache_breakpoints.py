"""Marks the blocks up to which the server caches a prompt."""

from typing import Any

from ..cached_ends import MARKED, ends_to_mark

Json = dict[str, Any]


def mark_to_cache(
    tools: list[Json], system: list[Json], messages: list[Json], mark: Json | None, *, automatic: bool
) -> None:
    """Puts the mark where it is needed. `automatic`: not only where the client did."""
    contents = [message["content"] for message in messages]
    blocks = [*contents, system, tools]
    of_client = [
        (row, at)
        for row, content in enumerate(contents)
        for at, block in enumerate(content)
        if block.pop(MARKED, False)
    ]
    if mark is None:
        return
    users = [(row, len(contents[row]) - 1) for row, message in enumerate(messages) if message["role"] == "user"]
    first = [(row, len(blocks[row]) - 1) for row in range(len(contents), len(blocks)) if blocks[row]]
    for row, at in ends_to_mark(of_client, users, first, automatic=automatic):
        blocks[row][at] = {**blocks[row][at], MARKED: mark}
