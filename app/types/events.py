"""Streaming events, one class per wire `type`. Field names are the wire's."""

import msgspec

from .json import Json
from .response import OutputItem, OutputText, ReasoningText, Refusal, Response, SummaryText


class Event(msgspec.Struct, tag_field="type"):
    """One event of a stream; `sequence_number` counts from 0 without gaps."""

    sequence_number: int


Events = list[Event]


class Relayed(Event, kw_only=True):
    """An event of a server that has the same API, passed on with all its members."""

    body: Json


class LifecycleEvent(Event):
    """An event that carries the whole response."""

    response: Response


class ResponseCreated(LifecycleEvent, tag="response.created"):
    """The first event of every stream."""


class ResponseInProgress(LifecycleEvent, tag="response.in_progress"):
    """The second event; it is sent again as a keep-alive while no item is open."""


class LastEvent(LifecycleEvent):
    """One of the three events that end a stream."""


class RelayedLast(LastEvent, kw_only=True):
    """The last event of such a server; `response` has what is known of it here."""

    body: Json


class ResponseCompleted(LastEvent, tag="response.completed"):
    """The answer is complete."""


class ResponseIncomplete(LastEvent, tag="response.incomplete"):
    """A limit or a filter ended the answer."""


class ResponseFailed(LastEvent, tag="response.failed"):
    """The answer failed; the response holds the error."""


class ItemEvent(Event):
    """An event about one output item, named by its index."""

    output_index: int


class OutputItemAdded(ItemEvent, tag="response.output_item.added"):
    """An item is new; it has empty values, never nulls."""

    item: OutputItem


class OutputItemDone(ItemEvent, tag="response.output_item.done"):
    """An item is finished. Codex reads no other item event, and runs a tool as soon as it gets this one."""

    item: OutputItem


class OutputItemInterrupted(ItemEvent, tag="response.output_item.interrupted"):
    """An item that the client has seen is given up, because the client ended the answer."""

    item_id: str
    response_id: str


class InterruptAccepted(Event, tag="response.interrupt.accepted"):
    """The client ends the answer, and keeps the finished items only."""

    response_id: str


class PartEvent(ItemEvent):
    """An event about one content part of an item."""

    item_id: str
    content_index: int


class ContentPartAdded(PartEvent, tag="response.content_part.added"):
    """A part is new."""

    part: OutputText | Refusal | ReasoningText


class ContentPartDone(PartEvent, tag="response.content_part.done"):
    """A part is finished."""

    part: OutputText | Refusal | ReasoningText


class OutputTextDelta(PartEvent, tag="response.output_text.delta"):
    """More text."""

    delta: str
    logprobs: list[Json] = []


class OutputTextDone(PartEvent, tag="response.output_text.done"):
    """The whole text of a part."""

    text: str
    logprobs: list[Json] = []


class OutputTextAnnotationAdded(PartEvent, tag="response.output_text.annotation.added"):
    """A citation in a part."""

    annotation_index: int
    annotation: Json


class RefusalDelta(PartEvent, tag="response.refusal.delta"):
    """More of a refusal."""

    delta: str


class RefusalDone(PartEvent, tag="response.refusal.done"):
    """The whole refusal."""

    refusal: str


class CallEvent(ItemEvent):
    """An event about a tool call."""

    item_id: str


class FunctionCallArgumentsDelta(CallEvent, tag="response.function_call_arguments.delta"):
    """More arguments."""

    delta: str


class FunctionCallArgumentsDone(CallEvent, tag="response.function_call_arguments.done"):
    """The whole arguments."""

    name: str
    arguments: str


class WebSearchInProgress(CallEvent, tag="response.web_search_call.in_progress"):
    """A search of the web begins."""


class WebSearchSearching(CallEvent, tag="response.web_search_call.searching"):
    """The web is searched."""


class WebSearchCompleted(CallEvent, tag="response.web_search_call.completed"):
    """A search of the web has ended."""


class ImageGenerationInProgress(CallEvent, tag="response.image_generation_call.in_progress"):
    """An image begins."""


class ImageGenerationGenerating(CallEvent, tag="response.image_generation_call.generating"):
    """An image is made."""


class ImageGenerationCompleted(CallEvent, tag="response.image_generation_call.completed"):
    """An image is complete."""


class SummaryEvent(ItemEvent):
    """An event about one part of a reasoning summary."""

    item_id: str
    summary_index: int


class ReasoningSummaryPartAdded(SummaryEvent, tag="response.reasoning_summary_part.added"):
    """A summary part is new."""

    part: SummaryText


class ReasoningSummaryTextDelta(SummaryEvent, tag="response.reasoning_summary_text.delta"):
    """More of a summary."""

    delta: str


class ReasoningSummaryTextDone(SummaryEvent, tag="response.reasoning_summary_text.done"):
    """The whole summary part."""

    text: str


class ReasoningSummaryPartDone(SummaryEvent, tag="response.reasoning_summary_part.done"):
    """A summary part is finished."""

    part: SummaryText


class ReasoningTextDelta(PartEvent, tag="response.reasoning_text.delta"):
    """More raw reasoning."""

    delta: str


class ReasoningTextDone(PartEvent, tag="response.reasoning_text.done"):
    """The whole raw reasoning."""

    text: str
