"""Reads a patch from the arguments of a call of `apply_patch`, also if the model has wrapped or decorated it.

Codex accepts a patch only between the lines `*** Begin Patch` and `*** End Patch`. Models write the patch into a fence
of backticks, or as `{"patch": …}`, or write asterisks behind these two lines.

Theory of operation
-------------------
    opening   everything is kept until the line `*** Begin Patch` is complete, at most `OPENING_LIMIT` characters. If
              something else comes, `JsonStringTap` reads all that was kept, and all that follows, as for every other
              custom tool
    body      lines are returned as they arrive
    ending    what follows the words `*** End Patch` is kept while it may be decoration, the closing fence and white
              space. If something else comes, it was not the end: all is returned, and this is the body again

What is neither fence, object nor decoration is returned as it is, to the character.
"""

import re
from typing import Final

from .json_string_tap import JsonStringTap

KEYS: Final = ("patch", "content")
"""Keys under which models write a patch, apart from the right one."""
OPENING_LIMIT: Final = 4_096
ENDING_LIMIT: Final = 256
_OBJECTS: Final = 2
"""Objects around a patch: that of the arguments, and one that the model has written as their text."""
_BEGIN: Final = "*** Begin Patch"
_END: Final = "\n*** End Patch"
_FENCE: Final = "```"
_SPACE: Final = " \t\r\n"
_AFTER_FENCE: Final = re.compile(r"`*+[\w+-]*+[ \t\r]*+")
_AFTER_BEGIN: Final = re.compile(r"[ \t]*+(\**+)[ \t\r]*+")
_AFTER_END: Final = re.compile(r"[ \t]*+(\**+)[ \t]*+(\r?+\n)?+\s*+(`*+)\s*+")


class PatchReader:
    """Reads one patch."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._plain: JsonStringTap | None = None
        """Reads the arguments, if they are no patch that is known."""
        self._kept = ""
        """All arguments, while the patch has not begun."""
        self._taps: list[JsonStringTap] = []
        self._head = ""
        """The text in the objects, while the patch has not begun."""
        self._begun = False
        self._fenced = False
        self._recent = ""
        """The end of the patch so far: `*** End Patch` and what follows it, or a part of it that may become that."""
        self._returned = 0
        """How much of `_recent` was returned."""

    def feed(self, text: str) -> str:
        """The part of the patch that this text completes."""
        if self._plain is not None:
            return self._plain.feed(text)
        if self._begun:
            return self._body(self._through_taps(text))
        room = OPENING_LIMIT - len(self._kept)
        now, later = text[:room], text[room:]
        self._kept += now
        self._head += self._through_taps(now)
        given = self._opening(full=len(self._kept) == OPENING_LIMIT)
        return given + self.feed(later) if later else given

    def rest(self) -> str:
        """The rest of the patch, when the text is complete."""
        if self._plain is None and not self._begun:
            return self._as_written() + self.rest()
        if self._plain is not None:
            return self._plain.rest()
        given = self._body(self._rest_of_taps())
        ending = self._recent[self._returned :]
        self._recent = ""
        found = _AFTER_END.match(ending)
        if found is None or (found[3] and not self._is_closed(found[3])):
            return given + ending
        return given + ((found[2] or "") if found[1] or found[3] else ending)

    def _through_taps(self, text: str) -> str:
        for tap in self._taps:
            text = tap.feed(text)
        return text

    def _rest_of_taps(self) -> str:
        text = ""
        for tap in self._taps:
            text = tap.feed(text) + tap.rest()
        return text

    def _as_written(self) -> str:
        """No patch that is known: all is read as it is for other tools."""
        self._plain = JsonStringTap(self._key)
        kept, self._kept, self._head = self._kept, "", ""
        self._taps.clear()
        return self._plain.feed(kept)

    def _opening(self, *, full: bool) -> str:
        """What is certain at the beginning."""
        while (head := self._head.lstrip(_SPACE)).startswith("{") and len(self._taps) < _OBJECTS and not self._fenced:
            self._taps.append(JsonStringTap(self._key, *KEYS))
            self._head = self._taps[-1].feed(head)
        line, broken, more = head.partition("\n")
        if broken and not self._fenced and _may_be(line, _FENCE, _AFTER_FENCE):
            self._fenced = True
            self._head = more
            return self._opening(full=full)
        if not line or (not broken and not self._fenced and _may_be(line, _FENCE, _AFTER_FENCE)):
            return self._as_written() if full else ""
        if not (decoration := _may_be(line, _BEGIN, _AFTER_BEGIN)):
            return self._as_written()
        if not broken:
            return self._as_written() if full else ""
        self._begun = True
        wrapped = self._fenced or decoration[1]
        before = "" if wrapped else self._head[: len(self._head) - len(head)]
        first = _BEGIN + ("\r" if line.endswith("\r") else "") if decoration[1] else line
        self._kept = self._head = ""
        return before + first + self._body("\n" + more)

    def _body(self, text: str) -> str:
        """What is certain of the lines behind the first one."""
        text, returned = self._recent + text, self._returned
        at = 0
        while (found := text.find(_END, at)) >= 0:
            at = found + len(_END)
            ending = _AFTER_END.match(text, at)
            if ending is not None and ending.end() == len(text) <= at + ENDING_LIMIT:
                self._recent, self._returned = text[found:], len(_END)
                return text[returned:at]
        self._recent = text[max(0, len(text) - len(_END) + 1) :]
        self._returned = len(self._recent)
        return text[returned:]

    def _is_closed(self, fence: str) -> bool:
        """Whether this closes the fence around the patch."""
        return self._fenced and fence.startswith(_FENCE)


def _may_be(line: str, words: str, decoration: re.Pattern[str]) -> re.Match[str] | None:
    """The decoration behind these words, if the line may have no more than that, or may become such a line."""
    if not words.startswith(line[: len(words)]):
        return None
    return decoration.fullmatch(line, len(words)) if len(line) >= len(words) else decoration.fullmatch("")
