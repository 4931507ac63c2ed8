"""The items of one response, open or finished, and the numbers of its events. Emitter and relay have one each."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Generic, Literal, Protocol, TypeVar, assert_never

from ..protocol.output_items import ItemStatus
from ..protocol.problems import Problem
from .rules import ItemKind, Outcome

Phase = Literal["new", "created", "talking", "over"]
"""What was sent last: nothing, `response.created`, any other event, the last event."""

Finished = TypeVar("Finished")
Sent = TypeVar("Sent")
Finished_co = TypeVar("Finished_co", covariant=True)


class MisuseError(RuntimeError):
    """The emitter was called in an order that it does not allow: an error of this server, never of an upstream."""


class LedgerItem(Protocol[Finished_co, Sent]):
    """What the ledger needs of an open item."""

    def empty_delta(self) -> Sent | None:
        """An event without content, as a keep-alive. None if there is no such event."""
        ...

    def close(self, status: ItemStatus) -> tuple[Finished_co | None, list[Sent]]:
        """The finished item, and the events that close it. No item if none was sent."""
        ...


Item = TypeVar("Item", bound=LedgerItem[Any, Any])


class Ledger(Generic[Item, Finished, Sent]):
    """The items of a response: each is in `open` or in `finished`, by its `output_index`, and moves once."""

    def __init__(self) -> None:
        self.phase: Phase = "new"
        self.next_number: Callable[[], int] = count().__next__
        """The `sequence_number` of the next event."""
        self.next_index: Callable[[], int] = count().__next__
        """The `output_index` of the next item, where no upstream sets it."""
        self.open: dict[int, Item] = {}
        """In the order in which they were begun."""
        self.finished: dict[int, Finished] = {}

    @property
    def output(self) -> list[Finished]:
        """The finished items, in the order of their indices."""
        return [self.finished[index] for index in sorted(self.finished)]

    @property
    def newest_index(self) -> int:
        """The highest index of an item, open or finished."""
        return max([*self.open, *self.finished], default=0)

    def continue_after(self, sent: int) -> None:
        """Continues a response of which this many events were sent before."""
        self.phase = "talking"
        for _ in range(sent):
            self.next_number()

    def expect(self, phase: Phase) -> None:
        """Raises unless the response is in this phase."""
        if self.phase != phase:
            raise MisuseError(f"the response is {self.phase}, not {phase}")

    def finish(self, index: int, item: Finished) -> None:
        """Adds a finished item, whether it was open or not."""
        self.open.pop(index, None)
        self.finished[index] = item

    def close(self, index: int, status: ItemStatus) -> list[Sent]:
        """Finishes an open item, and returns the events that close it."""
        events: list[Sent]
        item, events = self.open.pop(index).close(status)
        if item is not None:
            self.finished[index] = item
        return events

    def outcomes(
        self, items: Mapping[ItemKind, Outcome], kind_of: Callable[[int, Item], ItemKind]
    ) -> dict[int, Outcome]:
        """The outcome of each open item at the end, in the order of their indices."""
        return {index: items[kind_of(index, self.open[index])] for index in sorted(self.open)}

    def end(self, outcomes: Mapping[int, Outcome]) -> list[Sent]:
        """Closes the open items by these outcomes, and drops the others."""
        events: list[Sent] = []
        for index, outcome in outcomes.items():
            match outcome:
                case "completed" | "incomplete":
                    events += self.close(index, outcome)
                case "dropped":
                    pass
                case Problem():
                    raise MisuseError("a response with such an item open ends as a failure")
                case _:
                    assert_never(outcome)
        self.open.clear()
        return events

    def empty_delta(self) -> Sent | None:
        """An empty delta of the newest open item that has one."""
        for item in reversed(self.open.values()):
            if (event := item.empty_delta()) is not None:
                return event  # type: ignore[no-any-return]
        return None
