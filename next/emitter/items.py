"""Output items while they stream: one class per kind.

An open item collects its deltas. `close` returns the finished, frozen item and the events that close it, and the open
item is then discarded: no item is both.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from ..types import events as e
from ..types.json import is_object
from ..types.response import (
    FunctionCall,
    ItemStatus,
    Message,
    OutputItem,
    OutputText,
    Reasoning,
    ReasoningText,
    Refusal,
    SummaryText,
)
from .deltas import TextDelta

Closed = tuple[OutputItem, list[e.Event]]
"""The finished item and the events that close it."""


class Position(NamedTuple):
    """An item's id, its index in the output and the source of its events' numbers: fixed when it is begun."""

    id: str
    output_index: int
    number: Callable[[], int]

    def item(self, event: Callable[..., e.Event], item: OutputItem) -> e.Event:
        """An event about the item as a whole."""
        return event(sequence_number=self.number(), output_index=self.output_index, item=item)

    def within(self, event: Callable[..., e.Event], **fields: object) -> e.Event:
        """An event about something inside the item."""
        return event(sequence_number=self.number(), output_index=self.output_index, item_id=self.id, **fields)


class OpenMessage:
    """A message to the user: parts of text and refusal, one open at a time."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self._finished: list[OutputText | Refusal] = []
        self._texts: list[str] = []
        self._logprobs: list[dict[str, Any]] = []
        self._delta: Callable[..., e.Event] | None = None
        """The event of a delta of the open part."""

    def begin(self) -> list[e.Event]:
        """Added, and empty; its first part follows with its text."""
        return [self.position.item(e.OutputItemAdded, Message(id=self.position.id, status="in_progress"))]

    def add_text(self, delta: TextDelta) -> list[e.Event]:
        """More text."""
        events = [] if self._delta is e.OutputTextDelta else self._open(e.OutputTextDelta, OutputText(text=""))
        self._texts.append(delta.text)
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

    def add_refusal(self, text: str) -> list[e.Event]:
        """More of a refusal."""
        events = [] if self._delta is e.RefusalDelta else self._open(e.RefusalDelta, Refusal(refusal=""))
        self._texts.append(text)
        return [*events, self._within(e.RefusalDelta, delta=text)]

    def empty_delta(self) -> e.Event:
        """An empty delta of the open part, as a sign of life. A message is opened with its first text."""
        return self._within(self._delta or e.OutputTextDelta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The message with all its parts."""
        events = self._close()
        item = Message(id=self.position.id, status=status, content=self._finished)
        return item, [*events, self.position.item(e.OutputItemDone, item)]

    def _within(self, event: Callable[..., e.Event], **fields: object) -> e.Event:
        return self.position.within(event, content_index=len(self._finished), **fields)

    def _open(self, delta: Callable[..., e.Event], part: OutputText | Refusal) -> list[e.Event]:
        events = self._close()
        self._delta = delta
        return [*events, self._within(e.ContentPartAdded, part=part)]

    def _close(self) -> list[e.Event]:
        if self._delta is None:
            return []
        text, logprobs = "".join(self._texts), self._logprobs
        part: OutputText | Refusal
        if self._delta is e.RefusalDelta:
            part = Refusal(refusal=text)
            done = self._within(e.RefusalDone, refusal=text)
        else:
            part = OutputText(text=text, logprobs=logprobs or UNSET)
            done = self._within(e.OutputTextDone, text=text, logprobs=logprobs)
        events = [done, self._within(e.ContentPartDone, part=part)]
        self._finished.append(part)
        self._texts, self._logprobs, self._delta = [], [], None
        return events


class _Form(NamedTuple):
    """One form of reasoning: its event types, its part, and the keys of the part in events and in the item."""

    added: Callable[..., e.Event]
    delta: Callable[..., e.Event]
    text_done: Callable[..., e.Event]
    done: Callable[..., e.Event]
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


class OpenReasoning:
    """A reasoning item of one part."""

    def __init__(self, position: Position, form: _Form) -> None:
        self.position = position
        self._form = form
        self._index = {form.index_key: 0}
        self._texts: list[str] = []

    def begin(self) -> list[e.Event]:
        """Added, with its one part."""
        added = self.position.item(e.OutputItemAdded, self._item("in_progress", []))
        return [added, self.position.within(self._form.added, part=self._form.part(text=""), **self._index)]

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
        item = self._item(status, [part])
        return item, [
            self.position.within(self._form.text_done, text=part.text, **self._index),
            self.position.within(self._form.done, part=part, **self._index),
            self.position.item(e.OutputItemDone, item),
        ]

    def _item(self, status: ItemStatus, parts: list[Any]) -> Reasoning:
        fields: dict[str, Any] = {self._form.list_key: parts}
        return Reasoning(id=self.position.id, status=status, **fields)


class OpenCall:
    """A call of a function, its arguments passed on character by character."""

    def __init__(self, position: Position, name: str, call_id: str) -> None:
        self.position = position
        self._pieces: list[str] = []
        self._decoded = 0
        """The pieces that `_whole` is about."""
        self._whole = False
        self._name = name
        self._call_id = call_id

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a complete JSON object. Asked where another item begins, not for each piece."""
        if self._decoded != len(self._pieces):
            self._decoded, self._whole = len(self._pieces), is_object("".join(self._pieces))
        return self._whole

    def begin(self) -> list[e.Event]:
        """Added, with empty arguments."""
        return [self.position.item(e.OutputItemAdded, self._item("in_progress", ""))]

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments."""
        self._pieces.append(arguments)
        return [
            e.FunctionCallArgumentsDelta(
                sequence_number=self.position.number(),
                output_index=self.position.output_index,
                item_id=self.position.id,
                delta=arguments,
            )
        ]

    def empty_delta(self) -> e.Event:
        """An empty delta."""
        return self.position.within(e.FunctionCallArgumentsDelta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished call. A call that was cut gets no `arguments.done`: careful clients run a tool on that event."""
        written = "".join(self._pieces)
        if status == "incomplete":
            item = self._item(status, written)
            return item, [self.position.item(e.OutputItemDone, item)]
        missing = [] if written.strip() else self.add("{}")
        item = self._item(status, "".join(self._pieces))
        done = self.position.within(e.FunctionCallArgumentsDone, name=self._name, arguments=item.arguments)
        return item, [*missing, done, self.position.item(e.OutputItemDone, item)]

    def _item(self, status: ItemStatus, arguments: str) -> FunctionCall:
        return FunctionCall(
            id=self.position.id,
            status=status,
            call_id=self._call_id,
            name=self._name,
            arguments=arguments,
        )
