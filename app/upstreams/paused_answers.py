"""Carries on answers that a server of the Messages API pauses: a long series of its own searches ends a message.

The server is asked again with what it has written so far, and goes on there. The client gets one answer. It is told of
a pause only where an answer was paused too often, or cannot be sent back.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

import msgspec

from .port import GOES_ON, UpstreamBroke, UpstreamRefused

Json = dict[str, Any]

MOST_PAUSES: Final = 5
"""Pauses of one answer after which the server is asked again."""
MOST_KEPT: Final = 16 * 1024 * 1024
"""Characters of a message that are kept to be sent back."""
_TEXTS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("input", "partial_json"),
}
"""For each delta: the field of the block that grows, and that of the delta."""


def may_pause(ask: Json) -> bool:
    """Whether the server itself runs a tool of this ask. Only such answers are paused."""
    return any(tool.get("type", "custom") != "custom" for tool in ask.get("tools", ()))


async def carried_on(ask: Json, open_answer: Callable[[Json], AsyncGenerator[Json]]) -> AsyncGenerator[Json]:
    """The events of the answer to `ask`, with those of the messages that carry it on."""
    messages: list[Json] = ask["messages"]
    written: list[Json] = []
    size = 0
    tell = GOES_ON.get(None)
    for asked in range(MOST_PAUSES + 1):
        message = _Message()
        goes_on = False
        try:
            async with aclosing(open_answer(ask)) as events:
                async for event in events:
                    message.add(event)
                    if asked < MOST_PAUSES and _pauses(event) and (blocks := message.blocks()):
                        goes_on = True
                        written += blocks
                        event = {**event, "delta": {}}  # noqa: PLW2901 — the answer does not stop here
                    yield event
        except UpstreamRefused as refused:
            if not asked:
                raise
            raise UpstreamBroke(refused.problem) from None
        if not goes_on:
            return
        size += message.size
        ask = {**ask, "messages": [*messages, {"role": "assistant", "content": written}]}
        if tell is not None:
            tell(ask, size)


def _pauses(event: Json) -> bool:
    delta = event.get("delta")
    return event.get("type") == "message_delta" and isinstance(delta, dict) and delta.get("stop_reason") == "pause_turn"


class _Message:
    """The blocks of one message."""

    def __init__(self) -> None:
        self._blocks: dict[Any, Json] = {}
        self._texts: dict[tuple[Any, str], list[str]] = {}
        self._citations: dict[int, list[Any]] = {}
        self._kept = 0

    @property
    def size(self) -> int:
        """The approximate number of its bytes."""
        return self._kept

    def add(self, event: Json) -> None:
        """Keeps what belongs to a block."""
        index, block, delta = event.get("index"), event.get("content_block"), event.get("delta")
        if type(index) is not int or self._kept > MOST_KEPT:
            return
        if event.get("type") == "content_block_start" and isinstance(block, dict):
            self._blocks[index] = block
            self._kept += len(repr(block))
        elif index in self._blocks and isinstance(delta, dict):
            self._add_to(index, delta)
            self._kept += len(repr(delta))

    def _add_to(self, index: int, delta: Json) -> None:
        field, source = _TEXTS.get(str(delta.get("type")), ("", ""))
        if isinstance(text := delta.get(source), str):
            self._texts.setdefault((index, field), []).append(text)
        elif delta.get("type") == "citations_delta":
            if index not in self._citations:
                cited = self._blocks[index].get("citations")
                self._citations[index] = list(cited) if isinstance(cited, list) else []
            self._citations[index].append(delta.get("citation"))

    def blocks(self) -> list[Json]:
        """The blocks as they can be sent back; empty if they cannot."""
        for (index, field), texts in self._texts.items():
            block, text = self._blocks[index], "".join(texts)
            try:
                value = json.loads(text or "{}") if field == "input" else (block.get(field) or "") + text
            except (ValueError, TypeError, RecursionError):
                return []
            self._blocks[index] = {**block, field: value}
        for index, cited in self._citations.items():
            self._blocks[index] = {**self._blocks[index], "citations": cited}
        blocks = [
            block for block in self._blocks.values() if block.get("type") != "text" or str(block.get("text")).strip()
        ]
        if self._kept > MOST_KEPT or any(block.get("type") == "tool_use" for block in blocks):
            return []
        try:
            msgspec.json.encode(blocks)
        except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):  # half of a UTF-16 character
            return []
        return blocks
