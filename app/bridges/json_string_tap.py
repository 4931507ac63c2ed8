"""Reads one string from a JSON object while the object arrives in pieces.

Theory of operation
-------------------
    before    the string has not begun; all text is kept, because this may be no object with that string
    inside    the string is open; its characters are returned as they arrive, except an incomplete escape
    quoted    a quote was read. It is the end of the string if `,` or `}` follows, and part of it otherwise: models
              forget to escape quotes. In that case the state is `inside` again
    ended     the string has ended; the rest of the object is ignored
    raw       this is no object with that string: everything is returned as it was written

So the result is either the string or everything. Of an object that is valid JSON it is exactly the string (the first,
if its key occurs twice). A string that has begun is read to its end, even if the JSON is broken: the part that was
returned cannot be taken back.

Each state is a method that reads the text from one position and returns the position where the next state continues.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_PLAIN: Final = re.compile(r'[^"\\]*')
_FLAT: Final = re.compile(r'[^"{}\[\]]*')
_SCALAR: Final = re.compile(r'[^"{}\[\],\s]*')
_SHORT: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_UNICODE_BEGUN: Final = re.compile(r"(\\(u[0-9a-fA-F]{0,3})?)?")
_UNICODE_LENGTH: Final = 6
_HIGH: Final = range(0xD800, 0xDC00)
"""First halves of characters that JSON writes as two escapes."""
_LOW: Final = range(0xDC00, 0xE000)
"""Second halves."""
_REPLACEMENT: Final = "\ufffd"

_Reader = Callable[[str, int], int]


class JsonStringTap:
    """Reads the string under one key, or under the first of several."""

    def __init__(self, *keys: str) -> None:
        self._wanted = keys
        self._kept: list[str] = []
        """Everything, before the string begins."""
        self._token: list[str] = []
        """The key that is being read; later a quote that may have been the last."""
        self._key = ""
        self._depth = 0
        self._cut = ""
        """The end of the text, which cannot be read before more arrives."""
        self._output: list[str] = []
        self._read: _Reader = self._object

    def feed(self, text: str) -> str:
        """The part of the string that this text completes."""
        self._kept.append(text)
        text, self._cut = self._cut + text, ""
        at = 0
        while at < len(text):
            at = self._read(text, at)
        if self._read in {self._inside, self._quoted, self._ended, self._raw}:
            self._kept.clear()
        return self._take()

    def rest(self) -> str:
        """The rest of the string, when the text is complete."""
        if self._read == self._inside:
            self._output.append(_unfinished(self._cut))
        self._output += self._kept
        self._kept.clear()
        return self._take()

    def _take(self) -> str:
        output = "".join(self._output)
        self._output.clear()
        return output

    def _wait(self, text: str, at: int) -> int:
        self._cut = text[at:]
        return len(text)

    def _object(self, text: str, at: int) -> int:
        return self._after(text, at, {"{": self._before_key})

    def _before_key(self, text: str, at: int) -> int:
        self._token.clear()
        return self._after(text, at, {'"': self._in_key})

    def _in_key(self, text: str, at: int) -> int:
        end = self._string_end(text, at)
        self._token.append(text[at:end])
        if self._cut or end == len(text):
            return len(text)
        self._key = _decoded("".join(self._token))
        self._read = self._colon
        return end + 1

    def _colon(self, text: str, at: int) -> int:
        return self._after(text, at, {":": self._before_value})

    def _before_value(self, text: str, at: int) -> int:
        if self._key in self._wanted:
            return self._after(text, at, {'"': self._inside})
        at = _skip_space(text, at)
        match text[at : at + 1]:
            case '"':
                self._read = self._string
            case "{" | "[":
                self._depth = 1
                self._read = self._nested
            case "":
                return at
            case _:
                self._read = self._scalar
                return at
        return at + 1

    def _string(self, text: str, at: int) -> int:
        end = self._string_end(text, at)
        if self._cut or end == len(text):
            return len(text)
        self._read = self._nested if self._depth else self._comma
        return end + 1

    def _nested(self, text: str, at: int) -> int:
        at = _end(_FLAT, text, at)
        match text[at : at + 1]:
            case '"':
                self._read = self._string
            case "{" | "[":
                self._depth += 1
            case "}" | "]":
                self._depth -= 1
                self._read = self._nested if self._depth else self._comma
            case _:
                return at
        return at + 1

    def _scalar(self, text: str, at: int) -> int:
        at = _end(_SCALAR, text, at)
        if at < len(text):
            self._read = self._comma
        return at

    def _comma(self, text: str, at: int) -> int:
        return self._after(text, at, {",": self._before_key})

    def _after(self, text: str, at: int, readers: dict[str, _Reader]) -> int:
        """Switches to the reader of the next character; any other one shows that this is not the wanted object."""
        at = _skip_space(text, at)
        if at == len(text):
            return at
        self._read = readers.get(text[at], self._everything)
        return at + 1

    def _string_end(self, text: str, at: int) -> int:
        """The end of the string that is being read, or of the text. An incomplete escape is kept for the next text."""
        while (at := _end(_PLAIN, text, at)) < len(text) and text[at] == "\\":
            if at + 1 == len(text):
                self._wait(text, at)
                return at
            at += 2
        return at

    def _inside(self, text: str, at: int) -> int:
        end = _end(_PLAIN, text, at)
        self._output.append(text[at:end])
        if end == len(text):
            return end
        if text[end] == "\\":
            return self._escape(text, end)
        self._token = ['"']
        self._read = self._quoted
        return end + 1

    def _quoted(self, text: str, at: int) -> int:
        end = _skip_space(text, at)
        self._token.append(text[at:end])
        if end == len(text):
            return end
        if text[end] in ",}":
            self._read = self._ended
        else:
            self._output += self._token
            self._read = self._inside
        return end

    def _escape(self, text: str, at: int) -> int:
        sign = text[at + 1 : at + 2]
        if sign in _SHORT:
            self._output.append(_SHORT[sign])
            return at + 2
        end = at + _UNICODE_LENGTH
        first, second = _UNICODE.match(text, at), _UNICODE.match(text, end)
        if first is None:
            if _UNICODE_BEGUN.fullmatch(text, at):
                return self._wait(text, at)
            self._output.append(text[at : at + 2])  # an escape that JSON does not have is returned as it is written
            return at + 2
        high, low = int(first[1], 16), int(second[1], 16) if second else 0
        if high in _HIGH and low in _LOW:
            self._output.append(chr(0x10000 + ((high - _HIGH.start) << 10) + (low - _LOW.start)))
            return end + _UNICODE_LENGTH
        if high in _HIGH and _UNICODE_BEGUN.fullmatch(text, end):
            return self._wait(text, at)
        self._output.append(_REPLACEMENT if high in _HIGH or high in _LOW else chr(high))
        return end

    def _ended(self, text: str, _at: int) -> int:
        return len(text)

    def _everything(self, text: str, _at: int) -> int:
        self._output += self._kept
        self._read = self._raw
        return len(text)

    def _raw(self, text: str, at: int) -> int:
        self._output.append(text[at:])
        return len(text)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _skip_space(text: str, at: int) -> int:
    return _end(_SPACE, text, at)


def _decoded(written: str) -> str:
    try:
        return msgspec.json.decode(f'"{written}"', type=str)
    except msgspec.MsgspecError:
        return written


def _unfinished(escape: str) -> str:
    """An escape that was never completed: as it is written, or a replacement for half a character."""
    if _UNICODE.match(escape):
        return _REPLACEMENT + escape[_UNICODE_LENGTH:]
    return escape
