"""Inline `<think>…</think>` at the start of the text, from upstreams that do not split it themselves."""

from typing import Final, Literal

from app.turn.deltas import Delta, ReasoningDelta, TextDelta

OPENING: Final = "<think>"
CLOSING: Final = "</think>"


class ThinkTags:
    """Tells thought from text while both arrive in pieces of any size."""

    def __init__(self) -> None:
        self._where: Literal["start", "thought", "text"] = "start"
        self._held = ""

    def split(self, delta: TextDelta) -> list[Delta]:
        """What is certain so far; a piece that may be the beginning of a tag is held back."""
        if self._where == "text":
            return [delta]
        self._held += delta.text
        if self._where == "start":
            text = self._held.lstrip()
            if OPENING.startswith(text) and text != OPENING:  # white space only, or a part of the tag
                return []
            if not text.startswith(OPENING):
                return self.rest()
            self._where, self._held = "thought", text.removeprefix(OPENING)
        thought, closed, text = self._held.partition(CLOSING)
        if closed:
            self._where, self._held = "text", ""
            return [ReasoningDelta(thought), TextDelta(text)]
        kept = _beginning_of_tag(thought)
        self._held = thought[len(thought) - kept :]
        return [ReasoningDelta(thought[: len(thought) - kept])]

    def rest(self) -> list[Delta]:
        """What was held back when nothing more comes: told as what it is."""
        held, self._held = self._held, ""
        if self._where == "thought":
            return [ReasoningDelta(held)]
        self._where = "text"
        return [TextDelta(held)]


def _beginning_of_tag(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the closing tag."""
    return next((size for size in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:size])), 0)
