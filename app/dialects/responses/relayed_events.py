"""Makes the events of a relayed answer as they are sent: marked, numbered and encoded, with missing ones supplied."""

from typing import Any

from ...emitter.ledger import Ledger
from ...json_text import json_bytes
from ...protocol.events import Event, Relayed, RelayedItem, RelayedLast
from .bridged_calls import BridgedCalls
from .call_ends import Named
from .endings import ending
from .marks import Marks
from .relayed_items import OpenRelayedItem, RelayedItems

Json = dict[str, Any]


class RelayedEvents:
    """The events of one answer. Those of its items are recorded."""

    def __init__(
        self,
        ledger: Ledger[OpenRelayedItem, Json, Json],
        items: RelayedItems,
        marks: Marks,
        bridged: BridgedCalls | None,
    ) -> None:
        self._ledger = ledger
        self._items = items
        self._marks = marks
        self._bridged = bridged

    def event(self, name: str, event: Json, kind: type[Relayed]) -> Relayed:
        """The event with the next number."""
        number = event["sequence_number"] = self._ledger.next_number()
        return kind(sequence_number=number, name=name.encode(), data=json_bytes(event))

    def of_items(self, named: list[Named]) -> list[Event]:
        """The events for these events about items, with bridged calls as calls of the client's tools."""
        if self._bridged is not None:
            named = [sent for name, event in named for sent in self._bridged_events(self._bridged, name, event)]
        return [sent for name, event in named for sent in self._item_events(name, event)]

    def last(self, event: Json) -> Event:
        """The last event."""
        self._ledger.phase = "over"
        last = self.event(event["type"], event, Relayed)
        return RelayedLast(
            sequence_number=last.sequence_number,
            name=last.name,
            data=last.data,
            body=json_bytes(event["response"]),
            response=ending(event["response"], event["type"]),
        )

    def _bridged_events(self, bridged: BridgedCalls, name: str, event: Json) -> list[Named]:
        sent = bridged.events(name, event)
        if bridged.holds(event):
            self._items.weigh(event, 0)  # its arguments are kept, in addition to what is sent
        return sent

    def _item_events(self, name: str, event: Json) -> list[Event]:
        self._marks.event(event)
        missing = self._items.missing(name, event)
        for supplied in missing:
            self._items.record(supplied["type"], supplied)
        self._items.record(name, event)
        sent = [self.event(each["type"], each, RelayedItem) for each in (*missing, event)]
        self._items.weigh(event, len(sent[-1].data))
        return list(sent)
