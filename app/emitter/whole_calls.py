"""Finds the calls whose arguments are a complete JSON object: the model can add nothing more to them.

An answer may come in a million pieces, so each character is read only once. A call is decoded once, when its brackets
are closed. If its arguments are no object then, they never become one.
"""

import re
from collections.abc import Container
from typing import Final

import msgspec

from .open_items import OpenCall

_OUTSIDE_STRING: Final = re.compile(r'["{}\[\]]')
_IN_STRING: Final = re.compile(r'["\\]')


def is_object(arguments: str) -> bool:
    """Whether these arguments are one complete JSON object."""
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (ValueError, RecursionError):  # broken, not UTF-8, or nested too deeply
        return False


class Brackets:
    """Counts the brackets of a JSON text that arrives in pieces, without those in strings."""

    def __init__(self) -> None:
        self._closed = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def is_closed(self) -> bool:
        """Whether they are all closed."""
        return self._closed

    def feed(self, text: str) -> None:
        """Reads more text."""
        at = 0
        if self._escaped and text:
            self._escaped, at = False, 1
        while (
            not self._closed
            and (match := (_IN_STRING if self._in_string else _OUTSIDE_STRING).search(text, at)) is not None
        ):
            at = match.end()
            match match[0]:
                case "\\":
                    self._escaped = at == len(text)
                    at += 1
                case '"':
                    self._in_string = not self._in_string
                case "{" | "[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    self._closed = self._depth <= 0


class WholeCalls:
    """The open calls of one answer that have become complete."""

    def __init__(self) -> None:
        self._brackets: dict[int, Brackets] = {}
        self._new: dict[int, tuple[OpenCall, list[str]]] = {}
        """Arguments that were not read yet, by position."""

    def add(self, call: OpenCall, arguments: str) -> None:
        """More arguments of an open call."""
        position = call.position.output_index
        if (new := self._new.get(position)) is None:
            self._new[position] = (call, [arguments])
        else:
            new[1].append(arguments)

    def take(self, positions: Container[int]) -> list[int]:
        """Those of these positions whose calls have become complete since the last time, in order."""
        if not self._new:
            return []
        new, self._new = self._new, {}
        return [at for at in sorted(new) if at in positions and self._is_whole(at, *new[at])]

    def _is_whole(self, position: int, call: OpenCall, new: list[str]) -> bool:
        brackets = self._brackets.setdefault(position, Brackets())
        if brackets.is_closed():
            return False
        brackets.feed("".join(new))
        return is_object(call.written()) if brackets.is_closed() else False
