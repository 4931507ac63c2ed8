"""Output items while they stream: one class per kind.

An open item collects its deltas. `close` returns the finished, frozen item and the events that close it, and the open
item is then discarded: no item is both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from ..types import events as e
from ..types.json import Json, is_object
from ..types.response import (
    ImageGenerationCall,
    ItemStatus,
    Message,
    OutputItem,
    OutputText,
    Reasoning,
    ReasoningText,
    Refusal,
    SummaryText,
    WebSearchCall,
)
from .deltas import AnnotationAdded, ImageWritten, SearchMade, TextDelta

Closed = tuple[OutputItem | None, e.Events]
"""The finished item and the events that close it. No item if it was cut before any event of it was sent."""
Whole = tuple[OutputItem, e.Events]
"""An item that is begun and finished at once, and all of its events."""


EventType = Callable[..., e.Event]
"""A class of events."""


class Position(NamedTuple):
    """An item's id, its index in the output and the source of its events' numbers: fixed when it is begun."""

    id: str
    output_index: int
    number: Callable[[], int]

    def item(self, event: EventType, item: OutputItem) -> e.Event:
        """An event about the item as a whole."""
        return event(sequence_number=self.number(), output_index=self.output_index, item=item)

    def within(self, event: EventType, **fields: object) -> e.Event:
        """An event about something inside the item."""
        return event(sequence_number=self.number(), output_index=self.output_index, item_id=self.id, **fields)


class OpenMessage:
    """A message to the user: parts of text and refusal, one open at a time."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self._finished: list[OutputText | Refusal] = []
        self._texts: list[str] = []
        self._written = 0
        """Characters of the open part."""
        self._logprobs: list[Json] = []
        self._annotations: list[Json] = []
        self._delta: EventType | None = None
        """The event of a delta of the open part."""

    def begin(self) -> e.Events:
        """Added, and empty; its first part follows with its text."""
        return [self.position.item(e.OutputItemAdded, Message(id=self.position.id, status="in_progress"))]

    def add_text(self, delta: TextDelta) -> e.Events:
        """More text."""
        events = [] if self._delta is e.OutputTextDelta else self._open(e.OutputTextDelta, OutputText(text=""))
        self._texts.append(delta.text)
        self._written += len(delta.text)
        self._logprobs += delta.logprobs
        events.append(
            e.OutputTextDelta(
                sequence_number=self.position.number(),
                output_index=self.position.output_index,
                item_id=self.position.id,
                content_index=len(self._finished),
                delta=delta.text,
                logprobs=delta.logprobs,
            )
        )
        return events

    def add_refusal(self, text: str) -> e.Events:
        """More of a refusal."""
        events = [] if self._delta is e.RefusalDelta else self._open(e.RefusalDelta, Refusal(refusal=""))
        self._texts.append(text)
        return [*events, self._within(e.RefusalDelta, delta=text)]

    def annotate(self, cited: AnnotationAdded) -> e.Events:
        """A citation of the text of the open part. No event if it is about an earlier part, which is finished."""
        events: e.Events = []
        if self._delta is None:
            events = self._open(e.OutputTextDelta, OutputText(text=""))
        elif self._delta is e.RefusalDelta or not cited.is_of(self._written):
            return []
        start, end = max(0, self._written - cited.from_start), max(0, self._written - cited.from_end)
        annotation = {**cited.annotation, "start_index": start, "end_index": end}
        self._annotations.append(annotation)
        at = len(self._annotations) - 1
        return [*events, self._within(e.OutputTextAnnotationAdded, annotation_index=at, annotation=annotation)]

    def empty_delta(self) -> e.Event:
        """An empty delta of the open part, as a sign of life. A message is opened with its first text."""
        return self._within(self._delta or e.OutputTextDelta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The message with all its parts."""
        events = self._close()
        item = Message(id=self.position.id, status=status, content=self._finished)
        return item, [*events, self.position.item(e.OutputItemDone, item)]

    def _within(self, event: EventType, **fields: object) -> e.Event:
        return self.position.within(event, content_index=len(self._finished), **fields)

    def _open(self, delta: EventType, part: OutputText | Refusal) -> e.Events:
        events = self._close()
        self._delta = delta
        return [*events, self._within(e.ContentPartAdded, part=part)]

    def _close(self) -> e.Events:
        if self._delta is None:
            return []
        text, logprobs = "".join(self._texts), self._logprobs
        part: OutputText | Refusal
        if self._delta is e.RefusalDelta:
            part = Refusal(refusal=text)
            done = self._within(e.RefusalDone, refusal=text)
        else:
            part = OutputText(text=text, annotations=self._annotations, logprobs=logprobs or UNSET)
            done = self._within(e.OutputTextDone, text=text, logprobs=logprobs)
        events = [done, self._within(e.ContentPartDone, part=part)]
        self._finished.append(part)
        self._texts, self._written, self._logprobs, self._annotations, self._delta = [], 0, [], [], None
        return events


class _Form(NamedTuple):
    """One form of reasoning: its event types, its part, and the keys of the part in events and in the item."""

    added: EventType
    delta: EventType
    text_done: EventType
    done: EventType
    part: type[SummaryText | ReasoningText]
    index_key: str
    list_key: str


SUMMARY = _Form(
    e.ReasoningSummaryPartAdded,
    e.ReasoningSummaryTextDelta,
    e.ReasoningSummaryTextDone,
    e.ReasoningSummaryPartDone,
    SummaryText,
    "summary_index",
    "summary",
)
"""Reasoning as a summary of one part: the only form that every real client shows."""
RAW = _Form(
    e.ContentPartAdded,
    e.ReasoningTextDelta,
    e.ReasoningTextDone,
    e.ContentPartDone,
    ReasoningText,
    "content_index",
    "content",
)
"""Reasoning as the model wrote it."""


class StatePiece(NamedTuple):
    """A piece of provider state: of the call with this id, or of the answer as a whole."""

    fields: Json
    call_id: str | None = None


Seal = Callable[[str, list[StatePiece]], str]
"""Seals the whole text of a reasoning item together with its provider state."""


class OpenReasoning:
    """A reasoning item of one part, and the provider state in it. Without a seal nothing of that is sent."""

    def __init__(self, position: Position, form: _Form, seal: Seal | None, state: list[StatePiece]) -> None:
        self.position = position
        self.state = state
        self._seal = seal
        self._form = form
        self._index = {form.index_key: 0}
        self._texts: list[str] = []

    def begin(self) -> e.Events:
        """Added, with its one part."""
        added = self.position.item(e.OutputItemAdded, self._item("in_progress", []))
        return [added, self.position.within(self._form.added, part=self._form.part(text=""), **self._index)]

    def add(self, text: str) -> e.Events:
        """More reasoning."""
        self._texts.append(text)
        return [self.position.within(self._form.delta, delta=text, **self._index)]

    def empty_delta(self) -> e.Event:
        """An empty delta of the part."""
        return self.position.within(self._form.delta, delta="", **self._index)

    def close(self, status: ItemStatus) -> Closed:
        """The finished item."""
        part = self._form.part(text="".join(self._texts))
        item = self._item(status, [part])
        item.encrypted_content = UNSET if self._seal is None else self._seal(part.text, self.state)
        return item, [
            self.position.within(self._form.text_done, text=part.text, **self._index),
            self.position.within(self._form.done, part=part, **self._index),
            self.position.item(e.OutputItemDone, item),
        ]

    def _item(self, status: ItemStatus, parts: list[Any]) -> Reasoning:
        fields: Json = {self._form.list_key: parts}
        return Reasoning(id=self.position.id, status=status, **fields)


class OpenCall(ABC):
    """A call of a tool, its arguments still arriving. The open call of each tool type is in the file of the type."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self._pieces: list[str] = []
        self._decoded = 0
        """The pieces that `_whole` is about."""
        self._whole = False

    @property
    def written(self) -> str:
        """All arguments so far."""
        return "".join(self._pieces)

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a complete JSON object. Asked where another item begins, not for each piece."""
        if self._decoded != len(self._pieces):
            self._decoded, self._whole = len(self._pieces), is_object(self.written)
        return self._whole

    def begin(self) -> e.Events:
        """The events that begin it; none if it is sent when it is complete."""
        return []

    def announce(self) -> e.Events:
        """The events that begin it, if they were not sent yet, before another item begins: clients count items."""
        return []

    def add(self, arguments: str) -> e.Events:
        """More arguments, as the model wrote them."""
        self._pieces.append(arguments)
        return []

    def empty_delta(self) -> e.Event | None:
        """An empty delta, if it has deltas."""
        return None

    @abstractmethod
    def close(self, status: ItemStatus) -> Closed:
        """The finished call. No item if it was cut before any event of it was sent."""


def _whole(position: Position, item: OutputItem, added: OutputItem, *between: EventType) -> Whole:
    return item, [
        position.item(e.OutputItemAdded, added),
        *[position.within(event) for event in between],
        position.item(e.OutputItemDone, item),
    ]


def search(position: Position, delta: SearchMade) -> Whole:
    """A search as a call of OpenAI's web search, which clients know how to show."""
    action: Json = {"type": "search", "query": delta.query, "queries": [delta.query]}
    added = WebSearchCall(id=position.id, status="in_progress", action=action)
    if delta.urls:
        action = {**action, "sources": [{"type": "url", "url": url} for url in delta.urls]}
    item = WebSearchCall(id=position.id, status="failed" if delta.failed else "completed", action=action)
    return _whole(position, item, added, e.WebSearchInProgress, e.WebSearchSearching, e.WebSearchCompleted)


def image(position: Position, delta: ImageWritten) -> Whole:
    """An image as a call of OpenAI's image generation, which clients know how to show."""
    added = ImageGenerationCall(id=position.id, status="in_progress")
    form = delta.format or UNSET
    item = ImageGenerationCall(id=position.id, status="completed", result=delta.data, output_format=form)
    between = (e.ImageGenerationInProgress, e.ImageGenerationGenerating, e.ImageGenerationCompleted)
    return _whole(position, item, added, *between)


def state_only(position: Position, sealed: str) -> Whole:
    """A reasoning item without text that holds provider state."""
    item = Reasoning(id=position.id, status="completed", encrypted_content=sealed)
    return _whole(position, item, Reasoning(id=position.id, status="in_progress"))
