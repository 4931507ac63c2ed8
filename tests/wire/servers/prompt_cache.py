"""A prompt cache as Anthropic documents it, for scripted servers: what a request reads from it and writes to it.

A prompt is a row of blocks: tools, system prompt, messages. A mark at a block caches all blocks up to it, if they have
enough tokens. At each mark the server looks for a cached row in the twenty blocks before it. Any change of a block
makes another row, and the mark itself changes nothing.
"""

import hashlib
import json
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

LOOKED_AT: Final = 20
"""Blocks before a mark, itself included, at which a cached row may end."""
FEWEST_TOKENS: Final = 1024
"""Tokens below which nothing is cached."""
MOST_MARKS: Final = 4
PER_TOKEN: Final = 4


class CacheUse(NamedTuple):
    """Tokens of one request."""

    read: int
    written: int
    other: int

    @property
    def share(self) -> float:
        """How much of the prompt was read from the cache."""
        return self.read / (self.read + self.written + self.other)


class PromptCache:
    """What one server has cached."""

    def __init__(self) -> None:
        self._rows: set[str] = set()

    def use(self, body: Json) -> CacheUse:
        """Read and write for this request."""
        blocks = blocks_of(body)
        digest = hashlib.sha256(str(body["model"]).encode())
        rows: list[tuple[str, int]] = []
        tokens = 0
        for block in blocks:
            text = json.dumps({key: value for key, value in block.items() if key != "cache_control"})
            digest.update(text.encode())
            tokens += -(-len(text) // PER_TOKEN)
            rows.append((digest.hexdigest(), tokens))
        marks = [index for index, block in enumerate(blocks) if "cache_control" in block]
        assert len(marks) <= MOST_MARKS, "A maximum of 4 blocks with cache_control may be provided."
        read = max((self._found(rows, mark) for mark in marks), default=0)
        large = [rows[mark] for mark in marks if rows[mark][1] >= FEWEST_TOKENS]
        self._rows |= {row for row, _ in large}
        written = max([read, *[count for _, count in large]]) - read
        return CacheUse(read, written, tokens - read - written)

    def _found(self, rows: list[tuple[str, int]], mark: int) -> int:
        """The tokens of the longest cached row that this mark leads to."""
        return next(
            (tokens for row, tokens in reversed(rows[max(0, mark + 1 - LOOKED_AT) : mark + 1]) if row in self._rows), 0
        )


def blocks_of(body: Json) -> list[Json]:
    """The blocks of a prompt, in the order in which they are cached."""
    return [
        *body.get("tools", ()),
        *body.get("system", ()),
        *[block for message in body["messages"] for block in message["content"]],
    ]
