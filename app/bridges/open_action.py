"""Calls whose item holds an action instead of a text. The wire lets no action grow, so it is told when it is whole.

Until then nobody hears of the call, unless something else opens behind it: then it is announced with an action that
says nothing yet. A call that is cut before its action is whole is never told, for nobody could run half of one.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from app.emitter.open_items import Closed, ItemPosition
from app.protocol import events as e
from app.protocol.output_items import ItemStatus, OutputItem


class OpenAction:
    """Such a call. `tell` makes the item of what the model wrote: as it is announced (`in_progress`), or finished."""

    def __init__(self, position: ItemPosition, tell: Callable[[ItemStatus, str], OutputItem]) -> None:
        self.position = position
        self._tell = tell
        self._arguments: list[str] = []
        self._announced: OutputItem | None = None

    def open(self) -> list[e.Event]:
        """Nothing yet."""
        return []

    def announce(self) -> list[e.Event]:
        """Added, with an action that is still empty."""
        if self._announced is not None:
            return []
        self._announced = self._tell("in_progress", self.said())
        return [self.position.item(e.OutputItemAdded, item=self._announced)]

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments; none of them can be told yet."""
        self._arguments.append(arguments)
        return []

    def said(self) -> str:
        """All arguments so far."""
        return "".join(self._arguments)

    def empty_delta(self) -> None:
        """There is no delta to leave empty."""

    def close(self, status: ItemStatus) -> Closed:
        """The finished call with its whole action."""
        if status == "incomplete":
            return Closed(None, [])
        item = self._tell(status, self.said())
        return Closed(item, [*self.announce(), *self._grow(item), self.position.item(e.OutputItemDone, item=item)])

    def _grow(self, item: OutputItem) -> list[e.Event]:  # noqa: ARG002 — most actions come at once
        return []


def read_object(arguments: str) -> dict[str, Any]:
    """The arguments, if they are a JSON object; otherwise nothing."""
    try:
        read = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def read_words(value: object) -> list[str] | None:
    """A list of strings, if it is one."""
    return value if isinstance(value, list) and all(isinstance(word, str) for word in value) else None


def read_limit(value: object) -> int | None:
    """A whole number from 0 on, if it is one; models write 1000.0, too."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
