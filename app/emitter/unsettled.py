"""What the emitter keeps about text and calls that are not settled yet, so that each character is looked at only once.

An answer may come in a million pieces. Whether a call is whole, and how much white space is held back, must not be
found out from all that was said each time something new is said.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from app.emitter.deltas import TextDelta
from app.emitter.open_items import OpenCall

MOST_NAMES: Final = 20
"""Names of calls that are remembered of one answer."""
LONGEST_NAME: Final = 64
"""Characters of each."""
_OUTSIDE: Final = re.compile(r'["{}\[\]]')
_INSIDE: Final = re.compile(r'["\\]')


def remember_name(names: list[str], name: str) -> None:
    """Adds the name of a call to these, as long as there are few."""
    if len(names) < MOST_NAMES:
        names.append(name[:LONGEST_NAME])


class HeldText:
    """White space that is no text of its own, until more text follows."""

    def __init__(self) -> None:
        self._deltas: list[TextDelta] = []
        self.length = 0
        """In characters."""

    def add(self, delta: TextDelta) -> None:
        """More of it."""
        self._deltas.append(delta)
        self.length += len(delta.text)

    def take(self) -> list[TextDelta]:
        """All of it, which is not held any more."""
        deltas, self._deltas, self.length = self._deltas, [], 0
        return deltas


class _Brackets:
    """Whether the brackets of a JSON text that is still arriving have been closed again."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._inside = False
        """In a string."""
        self._escaped = False

    def is_closed(self) -> bool:
        return self.closed

    def feed(self, text: str) -> None:
        at = 0
        if self._escaped and text:
            self._escaped, at = False, 1
        while not self.closed and (found := (_INSIDE if self._inside else _OUTSIDE).search(text, at)) is not None:
            at = found.end()
            match found[0]:
                case "\\":
                    self._escaped = at == len(text)
                    at += 1
                case '"':
                    self._inside = not self._inside
                case "{" | "[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    self.closed = self._depth <= 0


class WholeCalls:
    """Finds the open calls that say one complete JSON object: nothing the model could still add would belong to them.

    A call is decoded once, when its brackets have been closed. If it is no object then, it never becomes one.
    """

    def __init__(self) -> None:
        self._brackets: dict[int, _Brackets] = {}
        self._new: dict[int, list[str]] = {}

    def add(self, position: int, arguments: str) -> None:
        """More arguments of the call at this position."""
        self._new.setdefault(position, []).append(arguments)

    def found(self, calls: Mapping[int, OpenCall]) -> list[OpenCall]:
        """Those of these calls that have become whole since they were last looked at, by position."""
        new, self._new = self._new, {}
        known = [(position, calls[position]) for position in sorted(new) if position in calls]
        return [call for position, call in known if self._is_whole(position, call, new[position])]

    def _is_whole(self, position: int, call: OpenCall, new: list[str]) -> bool:
        brackets = self._brackets.setdefault(position, _Brackets())
        if brackets.is_closed():
            return False
        brackets.feed("".join(new))
        return _is_object(call.said()) if brackets.is_closed() else False


def _is_object(said: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(said), dict)
    except (ValueError, RecursionError):  # broken, not UTF-8, or nested too deeply
        return False
