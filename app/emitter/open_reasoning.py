"""Reasoning items while they stream, and the provider state in them.

Provider state is sealed into a reasoning item when that closes, if the client asked for it. It is added to the open
item. If no item is open, it waits for the next one, and gets an item of its own before a message or a call opens and at
the end. So it comes before its call, and never splits a text.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ..protocol import events as e
from ..protocol.output_items import ItemStatus, Reasoning, ReasoningText, SummaryText
from .open_items import Closed, ItemPosition
from .rules import ItemKind


class StatePiece(NamedTuple):
    """A piece of provider state: of the call with this id, or of the answer as a whole."""

    fields: dict[str, Any]
    call_id: str | None = None


Seal = Callable[[str, list[StatePiece]], str]
"""Seals the whole text of a reasoning item together with its provider state."""


class ItemState:
    """The provider state of one reasoning item. Without a seal nothing of it is sent."""

    def __init__(self, seal: Seal | None, pieces: list[StatePiece]) -> None:
        self._seal = seal
        self._pieces = pieces

    def add(self, piece: StatePiece) -> None:
        """Adds a piece."""
        self._pieces.append(piece)

    def sealed(self, text: str) -> str | UnsetType:
        """The item's `encrypted_content`."""
        return UNSET if self._seal is None else self._seal(text, self._pieces)


class ReasoningForm(NamedTuple):
    """One form of reasoning: its event types, its part, and the keys of the part in events and in the item."""

    part_added: Callable[..., e.Event]
    delta: Callable[..., e.Event]
    text_done: Callable[..., e.Event]
    part_done: Callable[..., e.Event]
    part: type[SummaryText | ReasoningText]
    index_key: str
    list_key: str


class OpenReasoning:
    """A reasoning item of one part. Each form is a class."""

    kind: Final = ItemKind.REASONING
    _form: ReasoningForm

    def __init__(self, position: ItemPosition, state: ItemState) -> None:
        self.position = position
        self.state = state
        self._index = {self._form.index_key: 0}
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.position.item(e.OutputItemAdded, item=self._item("in_progress", [])),
            self.position.within(self._form.part_added, part=self._form.part(text=""), **self._index),
        ]

    def add(self, text: str) -> list[e.Event]:
        """More reasoning."""
        self._texts.append(text)
        return [self.position.within(self._form.delta, delta=text, **self._index)]

    def empty_delta(self) -> e.Event:
        """An empty delta of the part."""
        return self.position.within(self._form.delta, delta="", **self._index)

    def close(self, status: ItemStatus) -> Closed:
        """The finished item."""
        part = self._form.part(text="".join(self._texts))
        item = self._item(status, [part], self.state.sealed(part.text))
        return Closed(
            item,
            [
                self.position.within(self._form.text_done, text=part.text, **self._index),
                self.position.within(self._form.part_done, part=part, **self._index),
                self.position.item(e.OutputItemDone, item=item),
            ],
        )

    def _item(self, status: ItemStatus, parts: list[Any], sealed: str | UnsetType = UNSET) -> Reasoning:
        return Reasoning(id=self.position.id, status=status, encrypted_content=sealed, **{self._form.list_key: parts})


class OpenSummary(OpenReasoning):
    """Reasoning as a summary of one part: the only form that every real client shows."""

    _form = ReasoningForm(
        part_added=e.ReasoningSummaryPartAdded,
        delta=e.ReasoningSummaryTextDelta,
        text_done=e.ReasoningSummaryTextDone,
        part_done=e.ReasoningSummaryPartDone,
        part=SummaryText,
        index_key="summary_index",
        list_key="summary",
    )

    def add(self, text: str) -> list[e.Event]:
        """More reasoning."""
        self._texts.append(text)
        return [
            e.ReasoningSummaryTextDelta(  # spelled out: this is the hot path
                sequence_number=self.position.next_number(),
                output_index=self.position.output_index,
                item_id=self.position.id,
                summary_index=0,
                delta=text,
            )
        ]


class OpenRawReasoning(OpenReasoning):
    """Reasoning as the model wrote it."""

    _form = ReasoningForm(
        part_added=e.ContentPartAdded,
        delta=e.ReasoningTextDelta,
        text_done=e.ReasoningTextDone,
        part_done=e.ContentPartDone,
        part=ReasoningText,
        index_key="content_index",
        list_key="content",
    )


class ReasoningItems:
    """Opens the reasoning items of one answer. Provider state waits here for the next one."""

    def __init__(self, *, raw: bool, seal: Seal | None) -> None:
        self._item_class = OpenRawReasoning if raw else OpenSummary
        self._seal = seal
        self._waiting: list[StatePiece] = []

    @property
    def has_state(self) -> bool:
        """Whether provider state waits for an item."""
        return bool(self._waiting)

    def add_state(self, piece: StatePiece, current: OpenReasoning | None) -> None:
        """Adds provider state to the open reasoning item, or to the waiting state. Without a seal it is dropped."""
        if self._seal is None or not piece.fields:
            return
        if current is None:
            self._waiting.append(piece)
        else:
            current.state.add(piece)

    def open(self, position: ItemPosition) -> OpenReasoning:
        """A new open item with the waiting state."""
        return self._item_class(position, self._take_state())

    def state_only(self, position: ItemPosition) -> tuple[Reasoning, list[e.Event]]:
        """A finished item without text that holds the waiting state, and its events."""
        item = Reasoning(id=position.id, status="completed", encrypted_content=self._take_state().sealed(""))
        added = Reasoning(id=position.id, status="in_progress")
        return item, [position.item(e.OutputItemAdded, item=added), position.item(e.OutputItemDone, item=item)]

    def _take_state(self) -> ItemState:
        pieces, self._waiting = self._waiting, []
        return ItemState(self._seal, pieces)
