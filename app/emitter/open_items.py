"""Output items while they stream: one class per kind, independent of the others.

An open item collects its deltas. `close` returns the finished, frozen item and the events that close it, and the open
item is then discarded: no item is both.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from msgspec import UNSET

from ..protocol import events as e
from ..protocol.output_items import (
    FunctionCall,
    ItemStatus,
    Message,
    OutputItem,
    OutputText,
    Refusal,
)
from .deltas import AnnotationAdded, TextDelta
from .rules import ItemKind


class ItemPosition(NamedTuple):
    """An item's id, its index in the output and the source of its events' numbers: fixed when it is begun."""

    id: str
    output_index: int
    next_number: Callable[[], int]

    def item(self, event: Callable[..., e.Event], **fields: object) -> e.Event:
        """An event about the item as a whole."""
        return event(sequence_number=self.next_number(), output_index=self.output_index, **fields)

    def within(self, event: Callable[..., e.Event], **fields: object) -> e.Event:
        """An event about something inside the item."""
        return event(sequence_number=self.next_number(), output_index=self.output_index, item_id=self.id, **fields)


class Closed(NamedTuple):
    """The finished item and the events that close it. No item if it was cut before any event of it was sent."""

    item: OutputItem | None
    events: list[e.Event]


class OpenItem(Protocol):
    """What the emitter needs of every open item."""

    position: ItemPosition

    def open(self) -> list[e.Event]:
        """The events that begin it."""
        ...

    def empty_delta(self) -> e.Event | None:
        """An empty delta of the open part, as a keep-alive. None if there is no such event."""
        ...

    def close(self, status: ItemStatus) -> Closed:
        """The finished item."""
        ...


class OpenCall(OpenItem):
    """A tool call of any kind, its arguments still arriving. By default they are sent when they are complete."""

    def __init__(self, position: ItemPosition) -> None:
        self.position = position
        self._arguments: list[str] = []

    def announce(self) -> list[e.Event]:
        """The events that begin it, if they were not sent yet, before another item opens."""
        return []

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments, as the model wrote them."""
        self._arguments.append(arguments)
        return []

    def written(self) -> str:
        """All arguments so far."""
        return "".join(self._arguments)


class _OpenText:
    """An `output_text` part of a message."""

    def __init__(self, position: ItemPosition, index: int) -> None:
        self._position = position
        self._index = index
        self._texts: list[str] = []
        self._written = 0
        self._logprobs: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    def open(self) -> e.Event:
        return self._position.within(e.ContentPartAdded, content_index=self._index, part=OutputText(text=""))

    def add(self, delta: TextDelta) -> e.Event:
        self._texts.append(delta.text)
        self._written += len(delta.text)
        if delta.logprobs:
            self._logprobs.extend(delta.logprobs)
        return e.OutputTextDelta(  # spelled out: this is the hot path
            sequence_number=self._position.next_number(),
            output_index=self._position.output_index,
            item_id=self._position.id,
            content_index=self._index,
            delta=delta.text,
            logprobs=delta.logprobs,
        )

    def annotate(self, cited: AnnotationAdded) -> list[e.Event] | None:
        written = self._written
        if not cited.is_of(written):
            return None
        start, end = max(0, written - cited.from_start), max(0, written - cited.from_end)
        annotation = {**cited.annotation, "start_index": start, "end_index": end}
        self._annotations.append(annotation)
        return [
            self._position.within(
                e.OutputTextAnnotationAdded,
                content_index=self._index,
                annotation_index=len(self._annotations) - 1,
                annotation=annotation,
            )
        ]

    def empty_delta(self) -> e.Event:
        return self._position.within(e.OutputTextDelta, content_index=self._index, delta="")

    def close(self) -> tuple[OutputText, list[e.Event]]:
        text = "".join(self._texts)
        part = OutputText(text=text, annotations=self._annotations, logprobs=self._logprobs or UNSET)
        return part, [
            self._position.within(e.OutputTextDone, content_index=self._index, text=text, logprobs=self._logprobs),
            self._position.within(e.ContentPartDone, content_index=self._index, part=part),
        ]


class _OpenRefusal:
    """A `refusal` part of a message."""

    def __init__(self, position: ItemPosition, index: int) -> None:
        self._position = position
        self._index = index
        self._texts: list[str] = []

    def open(self) -> e.Event:
        return self._position.within(e.ContentPartAdded, content_index=self._index, part=Refusal(refusal=""))

    def add(self, text: str) -> e.Event:
        self._texts.append(text)
        return self._position.within(e.RefusalDelta, content_index=self._index, delta=text)

    def empty_delta(self) -> e.Event:
        return self._position.within(e.RefusalDelta, content_index=self._index, delta="")

    def close(self) -> tuple[Refusal, list[e.Event]]:
        part = Refusal(refusal="".join(self._texts))
        return part, [
            self._position.within(e.RefusalDone, content_index=self._index, refusal=part.refusal),
            self._position.within(e.ContentPartDone, content_index=self._index, part=part),
        ]


class OpenMessage:
    """A message to the user: parts of text and refusal, one open at a time."""

    kind: Final = ItemKind.MESSAGE

    def __init__(self, position: ItemPosition) -> None:
        self.position = position
        self._finished: list[OutputText | Refusal] = []
        self._part: _OpenText | _OpenRefusal | None = None

    def open(self) -> list[e.Event]:
        """Added, and empty; its first part follows with its text."""
        return [self.position.item(e.OutputItemAdded, item=Message(id=self.position.id, status="in_progress"))]

    def add_text(self, delta: TextDelta) -> list[e.Event]:
        """More text."""
        if isinstance(self._part, _OpenText):
            return [self._part.add(delta)]
        events, part = self._text_part()
        return [*events, part.add(delta)]

    def add_refusal(self, text: str) -> list[e.Event]:
        """More of a refusal."""
        if isinstance(self._part, _OpenRefusal):
            return [self._part.add(text)]
        events = self._close_part()
        self._part = part = _OpenRefusal(self.position, len(self._finished))
        return [*events, part.open(), part.add(text)]

    def annotate(self, cited: AnnotationAdded) -> list[e.Event] | None:
        """A citation of the text of the open part. None if it is about an earlier one, which is finished."""
        if isinstance(self._part, _OpenText):
            return self._part.annotate(cited)
        if self._part is not None:
            return None
        events, part = self._text_part()
        return [*events, *(part.annotate(cited) or ())]

    def empty_delta(self) -> e.Event:
        """An empty delta of the open part. There is always one: a message is opened with its first text."""
        assert self._part is not None  # noqa: S101 — our own misuse, never an upstream's
        return self._part.empty_delta()

    def close(self, status: ItemStatus) -> Closed:
        """The message with all its parts."""
        events = self._close_part()
        item = Message(id=self.position.id, status=status, content=self._finished)
        return Closed(item, [*events, self.position.item(e.OutputItemDone, item=item)])

    def _text_part(self) -> tuple[list[e.Event], _OpenText]:
        if isinstance(self._part, _OpenText):
            return [], self._part
        events = self._close_part()
        self._part = part = _OpenText(self.position, len(self._finished))
        return [*events, part.open()], part

    def _close_part(self) -> list[e.Event]:
        if self._part is None:
            return []
        part, events = self._part.close()
        self._finished.append(part)
        self._part = None
        return events


class OpenFunctionCall(OpenCall):
    """A call of a function, its arguments passed on character by character."""

    def __init__(self, position: ItemPosition, name: str, call_id: str, namespace: str | None = None) -> None:
        super().__init__(position)
        self._name = name
        self._call_id = call_id
        self._namespace = UNSET if namespace is None else namespace

    def open(self) -> list[e.Event]:
        """Added, with empty arguments."""
        return [self.position.item(e.OutputItemAdded, item=self._item("in_progress", ""))]

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments."""
        self._arguments.append(arguments)
        return [
            e.FunctionCallArgumentsDelta(  # spelled out: this is the hot path
                sequence_number=self.position.next_number(),
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
        if status == "incomplete":
            item = self._item(status, self.written())
            return Closed(item, [self.position.item(e.OutputItemDone, item=item)])
        missing = [] if self.written().strip() else self.add("{}")
        item = self._item(status, self.written())
        return Closed(
            item,
            [
                *missing,
                self.position.within(e.FunctionCallArgumentsDone, name=self._name, arguments=item.arguments),
                self.position.item(e.OutputItemDone, item=item),
            ],
        )

    def _item(self, status: ItemStatus, arguments: str) -> FunctionCall:
        return FunctionCall(
            id=self.position.id,
            status=status,
            call_id=self._call_id,
            name=self._name,
            arguments=arguments,
            namespace=self._namespace,
        )
