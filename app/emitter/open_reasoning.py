"""Reasoning items while they stream: as a summary, or as the model wrote them; and the provider state they carry.

Provider state is sealed into a reasoning item as that closes, if the client carries any. The open item takes it. Where
none is open it waits for the next one, and gets one of its own before a message or a call opens and at the end. So it
comes before its call, and never splits a text in two.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from app.emitter.open_items import Closed, ItemPosition
from app.emitter.rules import ItemKind
from app.protocol import events as e
from app.protocol.output_items import ItemStatus, Reasoning, ReasoningText, SummaryText


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


class OpenSummary:
    """Reasoning as a summary of one part: the only form that every real client shows."""

    kind: Final = ItemKind.REASONING

    def __init__(self, position: ItemPosition, state: ItemState) -> None:
        self.position = position
        self.state = state
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.position.item(e.OutputItemAdded, item=Reasoning(id=self.position.id, status="in_progress")),
            self.position.within(e.ReasoningSummaryPartAdded, summary_index=0, part=SummaryText(text="")),
        ]

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

    def empty_delta(self) -> e.Event:
        """An empty delta on the part."""
        return self.position.within(e.ReasoningSummaryTextDelta, summary_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished item."""
        part = SummaryText(text="".join(self._texts))
        sealed = self.state.sealed(part.text)
        item = Reasoning(id=self.position.id, status=status, summary=[part], encrypted_content=sealed)
        return Closed(
            item,
            [
                self.position.within(e.ReasoningSummaryTextDone, summary_index=0, text=part.text),
                self.position.within(e.ReasoningSummaryPartDone, summary_index=0, part=part),
                self.position.item(e.OutputItemDone, item=item),
            ],
        )


class OpenRawReasoning:
    """Reasoning as the model wrote it."""

    kind: Final = ItemKind.REASONING

    def __init__(self, position: ItemPosition, state: ItemState) -> None:
        self.position = position
        self.state = state
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.position.item(
                e.OutputItemAdded, item=Reasoning(id=self.position.id, status="in_progress", content=[])
            ),
            self.position.within(e.ContentPartAdded, content_index=0, part=ReasoningText(text="")),
        ]

    def add(self, text: str) -> list[e.Event]:
        """More reasoning."""
        self._texts.append(text)
        return [self.position.within(e.ReasoningTextDelta, content_index=0, delta=text)]

    def empty_delta(self) -> e.Event:
        """An empty delta on the part."""
        return self.position.within(e.ReasoningTextDelta, content_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished item."""
        part = ReasoningText(text="".join(self._texts))
        sealed = self.state.sealed(part.text)
        item = Reasoning(id=self.position.id, status=status, content=[part], encrypted_content=sealed)
        return Closed(
            item,
            [
                self.position.within(e.ReasoningTextDone, content_index=0, text=part.text),
                self.position.within(e.ContentPartDone, content_index=0, part=part),
                self.position.item(e.OutputItemDone, item=item),
            ],
        )


OpenReasoning = OpenSummary | OpenRawReasoning


class ReasoningItems:
    """Opens the reasoning items of one answer. Provider state waits here for the next of them."""

    def __init__(self, *, raw: bool, seal: Seal | None) -> None:
        self._open: type[OpenReasoning] = OpenRawReasoning if raw else OpenSummary
        self._seal = seal
        self._waiting: list[StatePiece] = []

    @property
    def has_state(self) -> bool:
        """Whether provider state waits for an item."""
        return bool(self._waiting)

    def add_state(self, piece: StatePiece, current: OpenReasoning | None) -> None:
        """Adds provider state to the open reasoning item, or to what waits. Without a seal it is dropped."""
        if self._seal is None or not piece.fields:
            return
        if current is None:
            self._waiting.append(piece)
        else:
            current.state.add(piece)

    def open(self, position: ItemPosition) -> OpenReasoning:
        """A new open item, which carries all that waits."""
        return self._open(position, self._take_state())

    def state_only(self, position: ItemPosition) -> tuple[Reasoning, list[e.Event]]:
        """An item without text that carries all that waits, finished as soon as it is added."""
        item = Reasoning(id=position.id, status="completed", encrypted_content=self._take_state().sealed(""))
        added = Reasoning(id=position.id, status="in_progress")
        return item, [position.item(e.OutputItemAdded, item=added), position.item(e.OutputItemDone, item=item)]

    def _take_state(self) -> ItemState:
        pieces, self._waiting = self._waiting, []
        return ItemState(self._seal, pieces)
