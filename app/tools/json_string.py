"""Reads one string out of a JSON object while the object arrives in pieces.

The result is the string, or everything as it was written, if this is no object with it. Of an object that is valid JSON
it is exactly the string. Models forget to escape quotes: a quote ends the string only before `,` or `}`.
"""

import json
import re
from typing import Literal

from ..types.json import whole_characters

_KEY = re.compile(r'\s*+"((?:[^"\\]++|\\.)*+)"\s*+:\s*+')
_COMMA = re.compile(r"\s*+,")
_HALF = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
"""The first half of a character that JSON writes as two escapes."""
_KNOWN = re.compile(
    r'(?:[^"\\]++|\\[^u]|"(?=\s*+[^\s,}])'
    rf"|(?!{_HALF})\\u(?:[0-9a-fA-F]{{4}}|(?=[0-9a-fA-F]{{0,3}}[^0-9a-fA-F]))"
    rf"|{_HALF}(?=[^\\]|\\[^u]|\\u[0-9a-fA-F]{{4}}))*+",
    re.DOTALL,
)
"""Text of the string that does not depend on what follows: no half of an escape, and no quote that may be the last."""
_STRING_END = re.compile(r'"\s*+[,}]')
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})++|\\["\\/bfnrt]')
_values = json.JSONDecoder(strict=False)


class JsonString:
    """Reads the string under the first of these keys."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._state: Literal["before", "inside", "after", "no object"] = "before"
        self._text = ""
        """What arrived and was not returned: before the string all of it."""
        self._at = 0
        """Where the next member of the object begins; 0: where the object does."""

    def feed(self, text: str) -> str:
        """The part of the string that this text completes."""
        self._text += text
        if self._state == "before":
            self._begin()
        known = ""
        if self._state == "inside":
            found = _KNOWN.match(self._text)
            known = found[0] if found else ""
            self._text = self._text[len(known) :]
            known = _ESCAPES.sub(_unescaped, known)
            if _STRING_END.match(self._text):
                self._state = "after"
        if self._state == "no object":
            known, self._text = self._text, ""
        if self._state == "after":
            self._text = ""
        return known

    def rest(self) -> str:
        """The rest, when the text is complete."""
        text, self._text = self._text, ""
        if self._state != "inside":
            return text
        return "" if text.strip() == '"' else _ESCAPES.sub(_unescaped, text)

    def _begin(self) -> None:
        """Looks for the string, member by member. A member that is not complete is read again with more text."""
        if not self._at:
            begun = self._text.lstrip()
            if begun and not begun.startswith("{"):
                self._state = "no object"
            self._at = self._text.find("{") + 1
        while self._state == "before" and self._at and (key := _KEY.match(self._text, self._at)):
            if key[1] in self._keys and self._text.startswith('"', key.end()):
                self._state, self._text = "inside", self._text[key.end() + 1 :]
                return
            try:
                _, end = _values.raw_decode(self._text, key.end())
            except (ValueError, RecursionError):
                return
            if not (comma := _COMMA.match(self._text, end)):
                return
            self._at = comma.end()


def _unescaped(found: re.Match[str]) -> str:
    text: str = whole_characters(json.loads(f'"{found[0]}"'))
    return text


_KEYS = ("input", "patch", "content")
"""The right key, and others under which models write a patch."""
_BEGIN = "*** Begin Patch"
_END = "\n*** End Patch"
_FENCE = "```"
_OPENING = re.compile(r"(\s*+```++[\w+-]*+[ \t]*+\r?+\n\s*+)?+\*\*\* Begin Patch[ \t]*+\**+[ \t]*+(\r?+\n)")
_ENDING = re.compile(r"[ \t]*+(\**+)[ \t]*+(\r?+\n)?+\s*+(`*+)\s*+")
_LONGEST = 4096
"""Characters that wait for the first line."""


class PatchReader:
    """Reads one patch."""

    def __init__(self) -> None:
        self._strings = JsonString(*_KEYS), JsonString(*_KEYS)
        """Of the arguments, and of an object that the model has written as their text."""
        self._begun = self._is_none = self._fenced = False
        self._text = ""
        """The text before the patch; then its end so far: `*** End Patch` and what follows, or what may become it."""
        self._returned = 0
        """How much of this end was returned."""

    def feed(self, text: str) -> str:
        """The part of the patch that this text completes."""
        for string in self._strings:
            text = string.feed(text)
        return self._read(text)

    def rest(self) -> str:
        """The rest of the patch, when the text is complete."""
        outer, inner = self._strings
        given = self._read(inner.feed(outer.rest()) + inner.rest())
        ending = self._text[self._returned :]
        self._text = ""
        found = _ENDING.fullmatch(ending)
        if not self._begun or found is None or (found[3] and not (self._fenced and found[3].startswith(_FENCE))):
            return given + ending
        return given + ((found[2] or "") if found[1] or found[3] else ending)

    def _read(self, text: str) -> str:
        if self._begun:
            return self._lines(text)
        self._text += text
        if found := None if self._is_none else _OPENING.match(self._text):
            more, self._text = self._text[found.end() :], ""
            self._begun, self._fenced = True, bool(found[1])
            return _BEGIN + self._lines(found[2] + more)
        head = self._text.lstrip()
        may_be = any(head.startswith(words) or words.startswith(head) for words in (_BEGIN, _FENCE))
        if may_be and not self._is_none and len(self._text) < _LONGEST:
            return ""
        self._is_none = True
        text, self._text = self._text, ""
        return text

    def _lines(self, text: str) -> str:
        """What is certain of the lines behind the first one: all but what may be decoration of the last one."""
        text, returned = self._text + text, self._returned
        at = text.rfind(_END)
        if at >= 0 and _ENDING.fullmatch(text, at + len(_END)):
            self._text, self._returned = text[at:], len(_END)
            return text[returned : at + len(_END)]
        self._text = text[max(0, len(text) - len(_END) + 1) :]
        self._returned = len(self._text)
        return text[returned:]
