"""Answers that the server pauses: a long series of its own searches ends a message.

The server is asked again with what it has written so far, and goes on there. The client gets one answer. It is told of
a pause only where an answer was paused too often, or cannot be sent back.
"""

from ...types.json import Json, as_object, as_text
from .blocks import Block, index_of

_MOST_PAUSES = 5


class Written:
    """What the model has written up to a pause."""

    def __init__(self, body: Json) -> None:
        self._body = body
        self._may_pause = any("type" in tool for tool in body.get("tools", ()))
        """Whether the server itself runs a tool. Only such answers are paused."""
        self._before: list[Json] = []
        self._blocks: dict[int, Block] = {}
        self._pauses = 0
        self._goes_on = False

    def read(self, event: Json) -> Json:
        """Keeps what belongs to a block. The event is returned; without the pause, if the answer can be carried on."""
        index, block, delta = index_of(event), event.get("content_block"), as_object(event.get("delta"))
        if self._may_pause and isinstance(block, dict):
            self._blocks[index] = Block(block)
        elif delta.get("stop_reason") == "pause_turn" and self._can_go_on():
            self._goes_on = True
            return {**event, "delta": {}}
        elif index in self._blocks:
            self._blocks[index].add(delta)
        return event

    def go_on(self) -> Json | None:
        """What is to be posted for the rest, if the answer was paused; a new message then begins."""
        if not self._goes_on:
            return None
        self._before += self._sent_back()
        self._blocks, self._goes_on = {}, False
        self._pauses += 1
        return {**self._body, "messages": [*self._body["messages"], {"role": "assistant", "content": [*self._before]}]}

    def _can_go_on(self) -> bool:
        calls = [block for block in self._blocks.values() if block.type == "tool_use"]
        return self._pauses < _MOST_PAUSES and not calls and bool(self._sent_back())

    def _sent_back(self) -> list[Json]:
        """The blocks of this message. The API refuses blank text."""
        blocks = [block.whole for block in self._blocks.values()]
        return [block for block in blocks if block.get("type") != "text" or as_text(block.get("text")).strip()]
