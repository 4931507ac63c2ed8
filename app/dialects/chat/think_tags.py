"""Inline `<think>…</think>` at the start of the text, from upstreams that do not split it themselves."""

from typing import Any, Final, Literal

from ...emitter.deltas import Delta, ReasoningDelta, TextDelta

OPENING: Final = "<think>"
CLOSING: Final = "</think>"
MOST_HELD: Final = 1_000
"""Characters of white space after which no tag is expected: all of them are read again with every piece."""


class ThinkTags:
    """Separates reasoning from text while both arrive in pieces of any size."""

    def __init__(self) -> None:
        self._phase: Literal["start", "reasoning", "text"] = "start"
        self._held = ""
        self._logprobs: list[dict[str, Any]] = []
        """Those of the held text, while it may still be no reasoning."""

    def split(self, delta: TextDelta) -> list[Delta]:
        """The deltas that are certain so far; text that may be the beginning of a tag is held back."""
        if self._phase == "text":
            return [delta]
        self._held += delta.text
        if self._phase == "start":
            self._logprobs += delta.logprobs
            text = self._held.lstrip()
            if OPENING.startswith(text) and text != OPENING and len(self._held) < MOST_HELD:
                return []  # white space, or half a tag
            if not text.startswith(OPENING):
                return self.rest()
            self._phase, self._held, self._logprobs = "reasoning", text.removeprefix(OPENING), []
        reasoning, closed, text = self._held.partition(CLOSING)
        if closed:
            self._phase, self._held = "text", ""
            return [ReasoningDelta(reasoning), TextDelta(text, _last_logprobs(len(text), delta.logprobs))]
        size = _beginning_of_tag(reasoning)
        self._held = reasoning[len(reasoning) - size :]
        return [ReasoningDelta(reasoning[: len(reasoning) - size])]

    def rest(self) -> list[Delta]:
        """The text that is still held back, at the end of the stream."""
        held, self._held = self._held, ""
        if self._phase == "reasoning":
            return [ReasoningDelta(held)]
        self._phase = "text"
        logprobs, self._logprobs = self._logprobs, []
        return [TextDelta(held, logprobs)]


def _last_logprobs(characters: int, logprobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log probabilities of the tokens at the end of a piece of text."""
    start = len(logprobs)
    while start and characters > 0:
        start -= 1
        characters -= len(logprobs[start]["token"])
    return logprobs[start:]


def _beginning_of_tag(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the closing tag."""
    return next((size for size in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:size])), 0)
