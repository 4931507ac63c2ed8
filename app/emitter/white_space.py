"""Holds white space back until text or reasoning follows it.

Text or reasoning that is only white space opens no item. It waits until more of its kind follows, or a citation of the
text, and is dropped when something else comes first.
"""

from .deltas import TextDelta


class WaitingSpace:
    """The white space that waits for text, and that which waits for reasoning."""

    def __init__(self) -> None:
        self._text: list[TextDelta] = []
        self._reasoning: list[str] = []
        self.text_length = 0
        """Length of the waiting text."""

    def add_text(self, delta: TextDelta) -> None:
        """Adds text, or white space before it."""
        self._text.append(delta)
        self.text_length += len(delta.text)

    def take_text(self) -> list[TextDelta]:
        """Removes and returns the waiting text."""
        deltas, self._text, self.text_length = self._text, [], 0
        return deltas

    def add_reasoning(self, text: str) -> None:
        """Adds reasoning, or white space before it."""
        self._reasoning.append(text)

    def take_reasoning(self) -> str:
        """Removes and returns the waiting reasoning."""
        text = "".join(self._reasoning)
        self._reasoning.clear()
        return text
