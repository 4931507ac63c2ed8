"""A text whose places are told in bytes, and looked up many times."""

from typing import Final

SEARCHED: Final = 64 * 1024 * 1024
"""Characters that are looked at in all, at most. Whoever cites the whole text a thousand times finds it a few times."""
_STEP: Final = 4096
_BEHIND_THE_FIRST: Final = bytes(range(0x80, 0xC0))
"""The bytes of a letter in UTF-8 but its first."""


class Letters:
    """One text, and how many letters stand before each of its bytes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._written = text.encode("utf-8", "surrogatepass")
        self._before = [0]
        """By steps."""
        self._left = SEARCHED

    def between(self, start: int, end: int) -> tuple[int, str]:
        """How many letters stand before `start`, and those from there to `end`, both in bytes; none if both are off."""
        self._left -= max(0, min(end, len(self._written)) - start)
        if self._left < 0:
            return 0, ""
        try:
            within = self._written[start:end].decode()
        except UnicodeDecodeError:
            return 0, ""
        return self._letters_before(min(start, len(self._written))), within

    def only(self, words: str) -> int | None:
        """Where these words stand, if they stand there once."""
        self._left -= len(self._text)
        if self._left < 0 or self._text.count(words) != 1:
            return None
        return self._text.index(words)

    def _letters_before(self, place: int) -> int:
        step, rest = divmod(place, _STEP)
        while len(self._before) <= step:
            begin = (len(self._before) - 1) * _STEP
            self._before.append(self._before[-1] + _letters(self._written[begin : begin + _STEP]))
        return self._before[step] + _letters(self._written[place - rest : place])


def _letters(written: bytes) -> int:
    return len(written.translate(None, _BEHIND_THE_FIRST))
