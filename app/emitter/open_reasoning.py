"""Reasoning items while they stream: as a summary, or as the model wrote it.

Where the client carries what the upstream wants back, each is sealed as it closes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from app.emitter.open_items import Closed, ItemPosition
from app.protocol import events as e
from app.protocol.output_items import ItemStatus, Reasoning, ReasoningText, SummaryText


class StatePiece(NamedTuple):
    """A piece of what the upstream wants back: with the call of this id, or with the answer as a whole."""

    fields: dict[str, Any]
    call_id: str | None = None


Seal = Callable[[str, list[StatePiece]], str]
"""Seals a thought, in all its words, and what is kept with it."""


class Carried:
    """What one reasoning item carries sealed. Nothing, unless there is somebody to seal it."""

    def __init__(self, seal: Seal | None, kept: list[StatePiece]) -> None:
        self._seal = seal
        self._kept = kept

    def keep(self, piece: StatePiece) -> None:
        """One more piece."""
        self._kept.append(piece)

    def sealed(self, text: str) -> str | UnsetType:
        """The item's `encrypted_content`."""
        return UNSET if self._seal is None else self._seal(text, self._kept)


def unspoken(position: ItemPosition, carried: Carried) -> tuple[Reasoning, list[e.Event]]:
    """An item without words, whole as soon as it opens: it only carries."""
    item = Reasoning(id=position.id, status="completed", encrypted_content=carried.sealed(""))
    added = Reasoning(id=position.id, status="in_progress")
    return item, [position.item(e.OutputItemAdded, item=added), position.item(e.OutputItemDone, item=item)]


class OpenSummary:
    """Reasoning told as a summary of one part: the only form that every real client shows."""

    def __init__(self, position: ItemPosition, carried: Carried) -> None:
        self.position = position
        self.carried = carried
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.position.item(e.OutputItemAdded, item=Reasoning(id=self.position.id, status="in_progress")),
            self.position.within(e.ReasoningSummaryPartAdded, summary_index=0, part=SummaryText(text="")),
        ]

    def add(self, text: str) -> list[e.Event]:
        """More thought."""
        self._texts.append(text)
        return [self.position.within(e.ReasoningSummaryTextDelta, summary_index=0, delta=text)]

    def empty_delta(self) -> e.Event:
        """An empty delta on the part."""
        return self.position.within(e.ReasoningSummaryTextDelta, summary_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished thought."""
        part = SummaryText(text="".join(self._texts))
        sealed = self.carried.sealed(part.text)
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
    """Reasoning told as the model wrote it."""

    def __init__(self, position: ItemPosition, carried: Carried) -> None:
        self.position = position
        self.carried = carried
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
        """More thought."""
        self._texts.append(text)
        return [self.position.within(e.ReasoningTextDelta, content_index=0, delta=text)]

    def empty_delta(self) -> e.Event:
        """An empty delta on the part."""
        return self.position.within(e.ReasoningTextDelta, content_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished thought."""
        part = ReasoningText(text="".join(self._texts))
        sealed = self.carried.sealed(part.text)
        item = Reasoning(id=self.position.id, status=status, content=[part], encrypted_content=sealed)
        return Closed(
            item,
            [
                self.position.within(e.ReasoningTextDone, content_index=0, text=part.text),
                self.position.within(e.ContentPartDone, content_index=0, part=part),
                self.position.item(e.OutputItemDone, item=item),
            ],
        )
