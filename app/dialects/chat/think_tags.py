"""Inline `<think>…</think>` at the start of the text, from upstreams that do not split it themselves."""

from typing import Any, Final, Literal

from app.emitter.deltas import Delta, ReasoningDelta, TextDelta

OPENING: Final = "<think>"
CLOSING: Final = "</think>"
MOST_HELD: Final = 1_000
"""Characters of white space behind which no tag is expected any more: all of them are looked at with every piece."""


class ThinkTags:
    """Tells thought from text while both arrive in pieces of any size."""

    def __init__(self) -> None:
        self._where: Literal["start", "thought", "text"] = "start"
        self._held = ""
        self._logprobs: list[dict[str, Any]] = []
        """Those of the held text, as long as it may turn out to be no thought."""

    def split(self, delta: TextDelta) -> list[Delta]:
        """What is certain so far; a piece that may be the beginning of a tag is held back."""
        if self._where == "text":
            return [delta]
        self._held += delta.text
        if self._where == "start":
            self._logprobs += delta.logprobs
            text = self._held.lstrip()
            if (
                OPENING.startswith(text) and text != OPENING and len(self._held) < MOST_HELD
            ):  # white space, or half a tag
                return []
            if not text.startswith(OPENING):
                return self.rest()
            self._where, self._held, self._logprobs = "thought", text.removeprefix(OPENING), []
        thought, closed, text = self._held.partition(CLOSING)
        if closed:
            self._where, self._held = "text", ""
            return [ReasoningDelta(thought), TextDelta(text, _of_the_last(len(text), delta.logprobs))]
        kept = _beginning_of_tag(thought)
        self._held = thought[len(thought) - kept :]
        return [ReasoningDelta(thought[: len(thought) - kept])]

    def rest(self) -> list[Delta]:
        """What was held back when nothing more comes: told as what it is."""
        held, self._held = self._held, ""
        if self._where == "thought":
            return [ReasoningDelta(held)]
        self._where = "text"
        logprobs, self._logprobs = self._logprobs, []
        return [TextDelta(held, logprobs)]


def _of_the_last(characters: int, logprobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log probabilities of the tokens at the end of a piece of text."""
    start = len(logprobs)
    while start and characters > 0:
        start -= 1
        characters -= len(logprobs[start]["token"])
    return logprobs[start:]


def _beginning_of_tag(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the closing tag."""
    return next((size for size in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:size])), 0)
