"""Follows a stream as strict clients do, and goes on after a broken rule, so that all of them are found.

What a rule means stands in `client_rules`; what is known of each kind of event in `event_table`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from . import client_rules as rules
from .event_table import BY_EVENT, LAST, LIFECYCLE, OTHERS, PART_EVENTS, PROGRESS, REQUIRED, Event, is_number, is_text
from .findings import Finding, Findings, narrowed
from .item_judge import judge_done_item, judge_fields, judge_status
from .response_judge import judge_end, judge_error_object, judge_response_fields
from .streamed_items import StreamedItem, end_of_item, told_texts


def judge_stream(events: Iterable[Event]) -> list[Finding]:
    """What is wrong with a whole stream."""
    judge = StreamJudge()
    for event in events:
        judge.read(event)
    judge.end()
    return judge.found.found


class StreamJudge:
    """What has been read of one stream."""

    def __init__(self) -> None:
        self.found = Findings()
        self.last: Event | None = None
        """The event that ended the stream."""
        self.sound: list[Event] = []
        """The events about which nothing was found."""
        self._began = False
        self._number = -1
        self._response_id: Any = None
        self._open: dict[int, StreamedItem] = {}
        self._done: dict[int, dict[str, Any]] = {}
        self._all_placed = True
        """Whether every item has an index of its own. Otherwise the output at the end cannot be compared."""
        self._ids: set[str | None] = set()
        self._call_ids: set[str | None] = set()

    def read(self, event: Event) -> None:
        """One more event, with a type that is text."""
        before = self.found.count
        self._read(str(event.get("type")), event)
        if self.found.count == before:
            self.sound.append(event)

    def _read(self, kind: str, event: Event) -> None:
        # OpenAI's server sends an error event, and then response.failed
        if self.last is not None and (self.last["type"], kind) != ("error", "response.failed"):
            self.found.add(rules.AFTER_LAST, f"{kind} follows {self.last['type']}", event)
            return
        if kind == "error":
            self._error(event)
        elif kind.startswith("response."):
            self._numbered(kind, event)
            self._known(kind, event)

    def _known(self, kind: str, event: Event) -> None:
        if kind not in REQUIRED and kind not in OTHERS:
            self.found.add(rules.KNOWN_EVENT, f"{kind} is unknown", event, kind)
            return
        if not self._began and kind != "response.created":
            self.found.add(rules.CREATED_FIRST, f"the first event is {kind}", event)
        if kind in LIFECYCLE:
            self._lifecycle(kind, event)
        self._began = True
        if kind in LIFECYCLE or kind in OTHERS:
            return
        wrong = [key for key, holds in REQUIRED[kind].items() if not holds(event.get(key))]
        if wrong:
            self._all_placed &= "output_index" not in wrong
            self.found.add(rules.EVENT_FIELDS, f"missing or of the wrong type: {', '.join(wrong)}", event, kind)
            return
        if kind == "response.output_item.added":
            self._added(event)
        elif kind == "response.output_item.done":
            self._item_done(event)
        else:
            self._within(kind, event)

    def end(self) -> None:
        """The stream has ended."""
        if self.last is None:
            self.found.add(rules.LAST_EVENT, "the stream ended without one", "")

    def _numbered(self, kind: str, event: Event) -> None:
        number = event.get("sequence_number")
        if number is None or not is_number(number):
            rule = rules.SEQUENCE_FAILED if kind == "response.failed" else rules.SEQUENCE
            self.found.add(rule, f"sequence_number is {number!r}", event)
            return
        if number <= self._number:
            self.found.add(rules.SEQUENCE_ORDER, f"{number} follows {self._number}", event)
        self._number = number

    def _error(self, event: Event) -> None:
        self.last = event
        nested = event.get("error")
        said = event if nested is None else nested
        if not isinstance(said, Mapping) or not is_text(said.get("message")):
            self.found.add(rules.ERROR_EVENT, "there is no message", event)
        elif nested is not None:
            judge_error_object(self.found, nested, event)

    def _lifecycle(self, kind: str, event: Event) -> None:
        response = event.get("response")
        if kind in LAST:
            self.last = event
        if not isinstance(response, dict):
            self.found.add(rules.RESPONSE_OBJECT, "there is no response", event, kind)
            return
        if kind == "response.created" and self._began:
            self.found.add(rules.CREATED_ONCE, "it is sent again", narrowed(event, "id"))
        judge_response_fields(self.found, response, event)
        if self._response_id is None:
            self._response_id = response.get("id")
        elif response.get("id") != self._response_id:
            self.found.add(
                rules.RESPONSE_ID, f"{self._response_id!r} became {response.get('id')!r}", narrowed(event, "id")
            )
        if kind in LAST:
            self._last(kind, response, event)

    def _last(self, kind: str, response: dict[str, Any], event: Event) -> None:
        if response.get("status") != LAST[kind]:
            self.found.add(
                rules.LAST_STATUS, f"status is {response.get('status')!r} in {kind}", narrowed(event, "id", "status")
            )
        judge_end(self.found, LAST[kind], response, event)
        if kind == "response.completed" and self._open:
            self.found.add(
                rules.ITEM_NOT_DONE, f"output_index {min(self._open)} is still open", narrowed(event, "id", "status")
            )
        output = response.get("output")
        told = [_essence(self._done[index]) for index in sorted(self._done)]
        final = [_essence(item) for item in output if isinstance(item, dict)] if isinstance(output, list) else None
        comparable = kind == "response.completed" and self._all_placed and not self._open
        if final is not None and comparable and final != told:
            place = next((n for n, pair in enumerate(zip(told, final, strict=False)) if pair[0] != pair[1]), None)
            where = (
                f"they differ from output.{place} on" if place is not None else f"{len(final)} for {len(told)} items"
            )
            self.found.add(rules.FINAL_OUTPUT, where, narrowed(event, "output"))

    def _added(self, event: Event) -> None:
        item, index = event["item"], event["output_index"]
        if not judge_fields(self.found, item, event, "added"):
            return
        if index in self._open or index in self._done:
            self._all_placed = False
            self.found.add(rules.INDEX_REUSED, f"output_index {index} is used again", event)
        elif index != len(self._open) + len(self._done):
            self.found.add(rules.INDEX_ORDER, f"output_index is {index}", event)
        item_id = item.get("id")
        if is_text(item_id):
            if item_id in self._ids:
                self.found.add(rules.ITEM_ID_REUSED, f"{item_id!r} is used again", event)
            self._ids.add(item_id)
        call_id = item.get("call_id")
        if is_text(call_id) and call_id and not item["type"].endswith("_output"):
            if call_id in self._call_ids:
                self.found.add(rules.CALL_ID_REUSED, f"{call_id!r} is used again", event)
            self._call_ids.add(call_id)
        self._open[index] = StreamedItem(item)
        key = {"message": "content", "function_call": "arguments", "custom_tool_call": "input"}.get(item["type"], "")
        if key and not isinstance(item.get(key), list if key == "content" else str):
            self.found.add(rules.ADDED_EMPTY, f"{key} is {item.get(key)!r}", event, key)

    def _opened(self, event: Event) -> StreamedItem | None:
        streamed = self._open.get(event["output_index"])
        if streamed is None:
            state = "done already" if event["output_index"] in self._done else "not there"
            self.found.add(rules.ITEM_OPEN, f"output_index {event['output_index']} is {state}", event, event["type"])
        return streamed

    def _item_done(self, event: Event) -> None:
        item = event["item"]
        if not judge_fields(self.found, item, event, "done"):
            return
        judge_done_item(self.found, item, event)
        judge_status(self.found, item, event)
        streamed = self._opened(event)
        if streamed is None:
            return
        added = streamed.item
        if item["type"] != added["type"]:
            self.found.add(rules.ITEM_TYPE, f"{added['type']} became {item['type']}", event)
        elif item.get("id") != added.get("id"):
            self.found.add(rules.ITEM_ID, f"{added.get('id')!r} became {item.get('id')!r}", event, "done")
        for key in ("call_id", "name"):
            if key in added and item.get(key) != added[key]:
                self.found.add(rules.CALL_ID, f"{key} {added[key]!r} became {item.get(key)!r}", event)
        if item["type"] == added["type"]:
            end_of_item(self.found, streamed, event)
        self._done[event["output_index"]] = item
        del self._open[event["output_index"]]

    def _within(self, kind: str, event: Event) -> None:
        streamed = self._opened(event)
        if streamed is None:
            return
        if event["item_id"] != streamed.item.get("id"):
            detail = f"item_id is {event['item_id']!r}, the item has {streamed.item.get('id')!r}"
            self.found.add(rules.ITEM_ID, detail, event, kind)
        of_type = streamed.item["type"]
        if kind in PROGRESS:
            if of_type != PROGRESS[kind]:
                self.found.add(rules.EVENT_FITS, f"{kind} is about an item of type {of_type}", event, kind)
        elif kind in PART_EVENTS:
            streamed.part_event(self.found, event)
        elif kind in BY_EVENT:
            text = BY_EVENT[kind]
            if of_type != text.item:
                self.found.add(rules.EVENT_FITS, f"{kind} is about an item of type {of_type}", event, kind)
            else:
                streamed.text_event(self.found, text, event)


def _essence(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """What of an item must be the same wherever it is told. Sealed content may be sealed anew."""
    return item.get("type"), item.get("id"), item.get("call_id"), item.get("name"), told_texts(item)
