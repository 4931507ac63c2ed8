"""The items of an emitted response: where they are, how they begin, and what becomes of the open ones at the end."""

from collections.abc import Callable

from ..protocol import events as e
from ..protocol.ids import NewId
from ..protocol.output_items import OutputItem
from .ledger import Ledger
from .open_items import ItemPosition, OpenItem, OpenMessage
from .open_reasoning import OpenReasoning
from .rules import WHOLE_CALL, EndingRule, ItemKind, Outcome


class EmittedItems(Ledger[OpenItem, OutputItem, e.Event]):
    """The emitter's ledger. It gives the items their positions."""

    def __init__(self, new_id: NewId) -> None:
        super().__init__()
        self._new_id = new_id
        self.unannounced: set[int] = set()
        """Open calls of which no event was sent."""

    def position(self, prefix: str) -> ItemPosition:
        """The position of the next item, whose id has this prefix."""
        return ItemPosition(self._new_id(prefix), self.next_index(), self.next_number)

    def begin(self, item: OpenItem) -> list[e.Event]:
        """Adds an open item, and returns the events that begin it."""
        self.open[item.position.output_index] = item
        if not (events := item.open()):
            self.unannounced.add(item.position.output_index)
        return events

    def add(self, prefix: str, make: Callable[[ItemPosition], tuple[OutputItem, list[e.Event]]]) -> list[e.Event]:
        """Adds an item that is finished at once, and returns its events."""
        position = self.position(prefix)
        item, events = make(position)
        self.finish(position.output_index, item)
        return events

    def outcomes_by(
        self, rule: EndingRule, current: OpenMessage | OpenReasoning | None, whole_calls: frozenset[int]
    ) -> dict[int, Outcome]:
        """The outcome of each open item at an end by this rule. `current` is the message or reasoning that is open."""
        newest = self.newest_index

        def kind_of(index: int, item: OpenItem) -> ItemKind:
            if item is current:
                return current.kind
            if index in whole_calls:
                return WHOLE_CALL
            return ItemKind.NEWEST_CALL if index == newest else ItemKind.EARLIER_CALL

        return self.outcomes(rule.items, kind_of)
