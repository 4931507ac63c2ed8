"""Calls while they stream: their item holds either one text, which is sent as it arrives, or an action.

An action cannot be sent in pieces: it is sent when complete. Until then the client gets no event of the call, unless
another item opens after it: then it is announced with an empty action. A call that ends before its action is complete
is never sent: no client could run half of one.
"""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from ..emitter.items import Closed, EventType, OpenCall, Position
from ..types import events as e
from ..types.response import ItemStatus, OutputItem

MakeItem = Callable[[ItemStatus, str], OutputItem]
"""Makes the item of a call from its text or arguments."""


class TextReader(Protocol):
    """Reads the text of a call from its arguments while they arrive."""

    def feed(self, text: str) -> str:
        """The part of the text that is certain with these arguments."""
        ...

    def rest(self) -> str:
        """The rest, when the arguments are complete."""
        ...


class OpenText(OpenCall):
    """A call with a text."""

    def __init__(
        self, position: Position, item: OutputItem, text: str, reader: TextReader, delta: EventType, done: EventType
    ) -> None:
        """`text` is the member of the item and of `done`, the event of the whole text; `delta` is the one of more."""
        super().__init__(position)
        self._item = item
        self._name = text
        self._reader = reader
        self._delta = delta
        self._done = done
        self._text: list[str] = []

    def begin(self) -> e.Events:
        """Added, with an empty text."""
        return [self.position.item(e.OutputItemAdded, self._item)]

    def add(self, arguments: str) -> e.Events:
        """More arguments, and the part of the text in them."""
        super().add(arguments)
        return self._grow(self._reader.feed(arguments))

    def empty_delta(self) -> e.Event:
        """An empty delta."""
        return self.position.within(self._delta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished call. A call that was cut gets no `done`: some clients run a tool on that event."""
        events = self._grow(self._reader.rest()) if status == "completed" else []
        text = {self._name: "".join(self._text)}
        if status == "completed":
            events.append(self.position.within(self._done, **text))
        item = replace(self._item, status=status, **text)
        return item, [*events, self.position.item(e.OutputItemDone, item)]

    def _grow(self, text: str) -> e.Events:
        if not text:
            return []
        self._text.append(text)
        return [self.position.within(self._delta, delta=text)]


class OpenAction(OpenCall):
    """A call with an action."""

    def __init__(
        self, position: Position, item: MakeItem, events: Callable[[Position, Any], e.Events] = lambda *_: []
    ) -> None:
        """`events` makes those between the first and the last event of its item."""
        super().__init__(position)
        self._item = item
        self._events = events
        self._announced = False

    def announce(self) -> e.Events:
        """The item is added, with an action that is still empty."""
        if self._announced:
            return []
        self._announced = True
        return [self.position.item(e.OutputItemAdded, self._item("in_progress", self.written))]

    def close(self, status: ItemStatus) -> Closed:
        """The finished call with its complete action."""
        if status == "incomplete":
            return None, []
        item = self._item(status, self.written)
        events = [*self.announce(), *self._events(self.position, item)]
        return item, [*events, self.position.item(e.OutputItemDone, item)]
