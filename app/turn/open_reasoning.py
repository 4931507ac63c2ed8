"""Reasoning items while they stream: as a summary, or as the model wrote it."""

from app.protocol import events as e
from app.protocol.items import ItemStatus, Reasoning, ReasoningText, SummaryText
from app.turn.open_items import Closed, Place


class OpenSummary:
    """Reasoning told as a summary of one part: the only form that every real client shows."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.place.item(e.OutputItemAdded, item=Reasoning(id=self.place.id, status="in_progress")),
            self.place.within(e.ReasoningSummaryPartAdded, summary_index=0, part=SummaryText(text="")),
        ]

    def add(self, text: str) -> list[e.Event]:
        """More thought."""
        self._texts.append(text)
        return [self.place.within(e.ReasoningSummaryTextDelta, summary_index=0, delta=text)]

    def nudge(self) -> e.Event:
        """An empty delta on the part."""
        return self.place.within(e.ReasoningSummaryTextDelta, summary_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished thought."""
        part = SummaryText(text="".join(self._texts))
        item = Reasoning(id=self.place.id, status=status, summary=[part])
        return Closed(
            item,
            [
                self.place.within(e.ReasoningSummaryTextDone, summary_index=0, text=part.text),
                self.place.within(e.ReasoningSummaryPartDone, summary_index=0, part=part),
                self.place.item(e.OutputItemDone, item=item),
            ],
        )


class OpenRawReasoning:
    """Reasoning told as the model wrote it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._texts: list[str] = []

    def open(self) -> list[e.Event]:
        """Added, with its one part."""
        return [
            self.place.item(e.OutputItemAdded, item=Reasoning(id=self.place.id, status="in_progress", content=[])),
            self.place.within(e.ContentPartAdded, content_index=0, part=ReasoningText(text="")),
        ]

    def add(self, text: str) -> list[e.Event]:
        """More thought."""
        self._texts.append(text)
        return [self.place.within(e.ReasoningTextDelta, content_index=0, delta=text)]

    def nudge(self) -> e.Event:
        """An empty delta on the part."""
        return self.place.within(e.ReasoningTextDelta, content_index=0, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished thought."""
        part = ReasoningText(text="".join(self._texts))
        item = Reasoning(id=self.place.id, status=status, content=[part])
        return Closed(
            item,
            [
                self.place.within(e.ReasoningTextDone, content_index=0, text=part.text),
                self.place.within(e.ContentPartDone, content_index=0, part=part),
                self.place.item(e.OutputItemDone, item=item),
            ],
        )
