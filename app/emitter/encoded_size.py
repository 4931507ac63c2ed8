"""How long an event will be as JSON, roughly, and without encoding it: long ones are not encoded on the event loop."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from ..protocol.events import (
    ContentPartDone,
    CustomToolCallInputDelta,
    CustomToolCallInputDone,
    Event,
    FunctionCallArgumentsDelta,
    FunctionCallArgumentsDone,
    LifecycleEvent,
    OutputItemDone,
    OutputTextAnnotationAdded,
    OutputTextDelta,
    OutputTextDone,
    ReasoningSummaryPartDone,
    ReasoningSummaryTextDelta,
    ReasoningSummaryTextDone,
    ReasoningTextDelta,
    ReasoningTextDone,
    RefusalDelta,
    RefusalDone,
    Relayed,
    RelayedItem,
    RelayedLast,
    ShellCallCommandDelta,
    ShellCallCommandDone,
)

LONG: Final = 256 * 1024
"""Characters from which an event is long. Encoding so many takes about a millisecond."""
_EACH: Final = 16
"""Characters counted for every value in addition to its text."""
_TEXTS: Final[dict[type[Event], str]] = {
    CustomToolCallInputDelta: "delta",
    CustomToolCallInputDone: "input",
    FunctionCallArgumentsDelta: "delta",
    FunctionCallArgumentsDone: "arguments",
    OutputTextDelta: "delta",
    OutputTextDone: "text",
    ReasoningSummaryTextDelta: "delta",
    ReasoningSummaryTextDone: "text",
    ReasoningTextDelta: "delta",
    ReasoningTextDone: "text",
    RefusalDelta: "delta",
    RefusalDone: "refusal",
    Relayed: "data",
    RelayedItem: "data",
    RelayedLast: "data",
    ShellCallCommandDelta: "delta",
    ShellCallCommandDone: "command",
}
"""The one member of an event that may be long."""
_VALUES: Final[dict[type[Event], str]] = {
    ContentPartDone: "part",
    OutputItemDone: "item",
    OutputTextAnnotationAdded: "annotation",
    ReasoningSummaryPartDone: "part",
}
"""The same, where it is more than a text. Of what was only added, all is empty."""


def size_of(event: Event, echoed: int) -> int:
    """Characters of this event, counted no further than `LONG`.

    `echoed`: bytes of the request. A response repeats some of it, which is counted only where it may be long.
    """
    kind = type(event)
    if type(event) is OutputTextDelta and not event.logprobs:  # as most events are
        return len(event.delta)
    if (text := _TEXTS.get(kind)) is not None:
        size = len(getattr(event, text))
        logprobs = getattr(event, "logprobs", None)
        return size + _length(logprobs) if logprobs else size
    if (value := _VALUES.get(kind)) is not None:
        return _length(getattr(event, value))
    if isinstance(event, LifecycleEvent):
        return _length(event.response.output if echoed <= LONG else event.response)
    return 0


def _length(value: Any) -> int:
    """Characters of everything in this value. What is nested in it is taken from a list: it may be nested deeply."""
    size = 0
    left = [value]
    while left and size <= LONG:
        each = left.pop()
        size += _EACH
        if type(each) is str:  # as most are
            size += len(each)
        elif each is None or each is UNSET:
            continue
        elif isinstance(each, str | bytes):
            size += len(each)
        elif isinstance(each, list | tuple):
            left.extend(each)
        elif isinstance(each, dict):
            left.extend(each)
            left.extend(each.values())
        elif isinstance(each, msgspec.Struct):
            left.extend(msgspec.structs.astuple(each))
    return size
