"""The embedded model: it answers without a key, a configuration or a network, as a chat server would."""

import asyncio
import re

from ..types.json import Json
from .model_list import ListedModel
from .port import Breaker

_PAUSE = 0.02
"""Seconds between two words, so that a stream looks like one."""
_TEXT = (
    "Hello! I am the model that is built into AM Proxy, and I only repeat: «{}». "
    "Configure an upstream to talk to a real one."
)


class Demo:
    """The upstream of the embedded model."""

    def __init__(self) -> None:
        self.breaker = Breaker(0)

    async def open(self, body: Json, key: str | None) -> "DemoAnswer":
        """Its answer to this body."""
        said = [message for message in body["messages"] if message["role"] == "user"]
        text = _TEXT.format(str(said[-1]["content"])[:200] if said else "")
        return DemoAnswer(re.findall(r"\S+\s*", text), len(str(body["messages"])) // 4)

    async def models(self, key: str | None) -> list[ListedModel]:
        """It has every name."""
        return []

    async def close(self) -> None:
        """Nothing is open."""


class DemoAnswer:
    """Chunks, a word each."""

    def __init__(self, words: list[str], into: int) -> None:
        usage: Json = {"prompt_tokens": into, "completion_tokens": len(words), "total_tokens": into + len(words)}
        self._chunks: list[Json] = [
            *[{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words],
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ]
        self.pieces: list[bytes] | None = None

    async def next(self) -> list[Json] | None:
        """The next chunk."""
        if not self._chunks:
            return None
        await asyncio.sleep(_PAUSE)
        return [self._chunks.pop(0)]

    def close(self) -> None:
        """Nothing is open."""
