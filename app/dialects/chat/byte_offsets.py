"""Converts byte offsets in a text to character offsets, many times over the same text."""

from typing import Final

SEARCHED: Final = 64 * 1024 * 1024
"""Characters that all searches of one text may read together."""
TIMES: Final = 128
"""How many times all searches together may read the text: otherwise their cost would be the square of its length."""
_STEP: Final = 4096
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes of a UTF-8 character after its first."""


class ByteOffsets:
    """The byte offsets of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bytes = text.encode("utf-8", "surrogatepass")
        self._before = [0]
        """How many characters come before every `_STEP`th byte, as far as it was counted."""
        self._budget = min(SEARCHED, TIMES * len(self._bytes))

    def between(self, start: int, end: int) -> tuple[int, str]:
        """The character offset of the byte `start`, and the text from there to the byte `end`.

        The text is empty if it would begin or end within a character, or nothing more may be read.
        """
        self._budget -= max(0, min(end, len(self._bytes)) - start)
        if self._budget < 0:
            return 0, ""
        try:
            text = self._bytes[start:end].decode()
        except UnicodeDecodeError:
            return 0, ""
        return self._characters_before(min(start, len(self._bytes))), text

    def find_only(self, text: str) -> int | None:
        """The character offset of this text; None if it occurs never or several times."""
        self._budget -= len(self._text)
        if self._budget < 0 or self._text.count(text) != 1:
            return None
        return self._text.index(text)

    def _characters_before(self, offset: int) -> int:
        step, rest = divmod(offset, _STEP)
        while len(self._before) <= step:
            begin = (len(self._before) - 1) * _STEP
            self._before.append(self._before[-1] + _characters(self._bytes[begin : begin + _STEP]))
        return self._before[step] + _characters(self._bytes[offset - rest : offset])


def _characters(encoded: bytes) -> int:
    return len(encoded.translate(None, _CONTINUATION))
