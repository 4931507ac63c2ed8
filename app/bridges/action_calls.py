"""Calls whose item holds an action instead of a text. An action cannot be sent in pieces: it is sent when complete.

Until then the client gets no event of the call, unless another item opens after it: then it is announced with an
empty action. A call that ends before its action is complete is never sent: no client could run half of one.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import msgspec

from ..emitter.open_items import Closed, ItemPosition, OpenCall
from ..protocol import events as e
from ..protocol.output_items import ItemStatus, OutputItem
from .base import Bridge, BridgedTool


class OpenAction(OpenCall):
    """A call with an action. `make_item` makes its item from the arguments, announced (`in_progress`) or finished."""

    def __init__(self, position: ItemPosition, make_item: Callable[[ItemStatus, str], OutputItem]) -> None:
        super().__init__(position)
        self._make_item = make_item
        self._announced: OutputItem | None = None

    def open(self) -> list[e.Event]:
        """No event: the item is sent later."""
        return []

    def announce(self) -> list[e.Event]:
        """The item is added, with an action that is still empty."""
        if self._announced is not None:
            return []
        self._announced = self._make_item("in_progress", self.written())
        return [self.position.item(e.OutputItemAdded, item=self._announced)]

    def empty_delta(self) -> None:
        """None: an action has no deltas."""

    def close(self, status: ItemStatus) -> Closed:
        """The finished call with its complete action."""
        if status == "incomplete":
            return Closed(None, [])
        item = self._make_item(status, self.written())
        return Closed(item, [*self.announce(), *self._grow(item), self.position.item(e.OutputItemDone, item=item)])

    def _grow(self, _item: OutputItem, /) -> list[e.Event]:
        """The events between the first and the last event of an item. Most actions have none."""
        return []


class ActionBridge(Bridge):
    """A bridge whose calls are items with an action."""

    open_item: ClassVar[type[OpenAction]] = OpenAction

    @abstractmethod
    def make_item(self, item_id: str, call_id: str, status: ItemStatus, arguments: str, /) -> OutputItem:
        """The item of a call with these arguments: as announced (`in_progress`), or finished."""

    def open_call(self, _bridged: BridgedTool, call_id: str, position: ItemPosition, /) -> OpenCall:
        """An item that is sent when its action is complete."""
        return self.open_item(position, partial(self.make_item, position.id, call_id))


def read_object(arguments: str) -> dict[str, Any]:
    """The arguments, if they are a JSON object; otherwise an empty one."""
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_strings(value: object) -> list[str] | None:
    """The value, if it is a list of strings."""
    return value if isinstance(value, list) and all(isinstance(entry, str) for entry in value) else None


def read_limit(value: object) -> int | None:
    """The value, if it is an integer from 0 on; models write 1000.0, too."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
