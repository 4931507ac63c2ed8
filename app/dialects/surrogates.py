"""Joins characters that an upstream cut into two UTF-16 surrogates.

Some servers stream a character beyond the basic plane as two halves, each in a chunk of its own. A half cannot be
written as UTF-8, so it waits for the other; one that never finds it becomes U+FFFD.
"""

from typing import Any


class SurrogateJoiner:
    """Joins the halves of characters in one stream of text."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, text: str) -> str:
        """`text`, with a half that was held back before it, and without a half at its end."""
        if not self._half and (text.isascii() or _is_whole(text)):
            return text
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1:] <= "\udbff":
            self._half = text[-1]
            text = text[:-1]
        return mended(text)

    def rest(self) -> str:
        """The half that is still held back, at the end of the stream."""
        rest, self._half = mended(self._half), ""
        return rest


def mended(text: str) -> str:
    """`text` with its pairs joined and its lone halves replaced."""
    if text.isascii() or _is_whole(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mended_all(value: Any) -> Any:
    """The same for every string inside a JSON value."""
    match value:
        case str():
            return mended(value)
        case list():
            return [mended_all(entry) for entry in value]
        case dict():
            return {mended_all(key): mended_all(entry) for key, entry in value.items()}
        case _:
            return value


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
