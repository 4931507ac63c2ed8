"""A second, independent reading of the protocol: `check(events)` raises when a stream breaks a rule.

It imports nothing from `app`, so that a mistake in the one is not repeated in the other. The rules are those of the
protocol plus what real clients throw on: openai-node on anything out of order, the AI SDK on a missing field, Codex
on what it would silently drop. What differs between kinds of items and parts stands in the tables of
`tests/wire/grammar_tables.py`; the fields of the response in `tests/wire/grammar_response.py`.
"""

from collections.abc import Sequence
from typing import Any

from tests.wire.grammar_actions import action_done, within_command
from tests.wire.grammar_checks import broken, is_number, is_text, require
from tests.wire.grammar_open import OpenItem, OpenPart
from tests.wire.grammar_response import check_response, same_echo
from tests.wire.grammar_tables import (
    COMMAND,
    EVENTS,
    KINDS,
    PARTS,
    Action,
    Call,
    Event,
    Image,
    Prose,
    Sealed,
)

LAST = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


def check(events: Sequence[Event], *, completed_may_be_incomplete: bool = False) -> None:
    """Refuse a whole stream that breaks a rule. Codex alone is told of a limit by a `completed` event."""
    require(len(events) > 2, "a stream has at least created, in_progress and a last event")
    reading = _Reading(completed_may_be_incomplete=completed_may_be_incomplete)
    for event in events:
        reading.read(event)
    require(reading.ended, "a stream ends with completed, incomplete or failed")


class _Reading:
    """What has been read of one stream so far."""

    def __init__(self, *, completed_may_be_incomplete: bool) -> None:
        self.ended = False
        self._completed_may_be_incomplete = completed_may_be_incomplete
        self._count = 0
        self._first: dict[str, Any] = {}
        self._seats = 0
        self._open: dict[int, OpenItem] = {}
        self._done: dict[int, dict[str, Any]] = {}
        self._ids: set[str] = set()
        self._call_ids: set[str] = set()
        self._cut = False
        self._ends_by_client = False

    def read(self, event: Event) -> None:
        """One more event."""
        require(not self.ended, "nothing follows the last event")
        kind = event.get("type")
        require(isinstance(kind, str) and kind in EVENTS, f"{kind!r} is an event clients know")
        require(is_number(event.get("sequence_number")), "sequence_number is an integer on every event")
        require(event["sequence_number"] == self._count, "sequence numbers count from 0 without gaps")
        for key, holds in EVENTS[str(kind)].items():
            require(key in event and holds(event[key]), f"{kind} carries a proper {key}")
        self._count += 1
        if "response" in event:
            self._lifecycle(event)
            return
        if kind in {"response.interrupt.accepted", "response.steer.accepted"}:
            return
        require(self._count > 2, "created and in_progress come first")
        if kind == "response.output_item.interrupted":
            self._given_up(event)
            return
        require(not self._cut, "nothing but the last event follows an incomplete item")
        if kind == "response.output_item.added":
            self._added(event)
        elif kind == "response.output_item.done":
            self._item_done(event)
        else:
            self._within(event)

    def _lifecycle(self, event: Event) -> None:
        kind, response = event["type"], event["response"]
        expected = {0: "response.created", 1: "response.in_progress"}.get(event["sequence_number"])
        require(expected in (None, kind), "created comes first, then in_progress")
        require(kind != "response.created" or expected is not None, "created is said once")
        check_response(response)
        self._first = self._first or response
        same_echo(self._first, response)
        output = [self._done[index] for index in sorted(self._done)]
        require(response["output"] == output, "a response's output equals the done items, in the order of their seats")
        if kind not in LAST:
            require(response["status"] == "in_progress", "a response is in_progress until the last event")
            return
        self._last(str(kind), response)

    def _last(self, kind: str, response: dict[str, Any]) -> None:
        self.ended = True
        statuses = {LAST[kind]}
        if kind == "response.completed" and self._completed_may_be_incomplete:
            statuses.add("incomplete")
        require(response["status"] in statuses, "the last event and response.status agree")
        status = response["status"]
        reason = (response["incomplete_details"] or {}).get("reason")
        require(reason == "interrupted" or not self._ends_by_client, "items are given up where the client wants an end")
        if status != "failed":
            require(not self._open, "nothing is open at the end")
        for open_item in self._open.values():
            is_call = not isinstance(open_item.kind.shape, Prose | Image | Sealed)
            require(is_call, "a failed response closes what it opened, all but calls")
        incomplete = [item for item in response["output"] if item.get("status") == "incomplete"]
        require(not incomplete or status != "completed", "an incomplete item makes the response incomplete")
        require(incomplete in ([], response["output"][-1:]), "an incomplete item is the last one")
        if status == "failed":
            cut = [item for item in incomplete if not isinstance(KINDS[item["type"]].shape, Prose)]
            require(not cut, "an unfinished call of a failed response is never done")

    def _added(self, event: Event) -> None:
        item, index = event["item"], event["output_index"]
        require(item.get("type") in KINDS, f"{item.get('type')!r} is an item clients know")
        kind = KINDS[item["type"]]
        kind.check(item)
        require(index == self._seats, "a new item takes the next seat; no output_index is used twice")
        require(item["id"] not in self._ids, "no item id is used twice")
        whole = isinstance(kind.shape, Sealed)
        require(whole or item["status"] == "in_progress", "an added item is in_progress")
        require({key: item[key] for key in kind.born} == kind.born, "an added item carries empty values, not nulls")
        require(not item.get("encrypted_content"), "nothing is sealed before it is whole")
        require(item.get("content", []) == [], "an added item carries empty values, not nulls")
        prose = [other for other in self._open.values() if isinstance(other.kind.shape, Prose)]
        require(not prose, "prose is closed before anything else opens")
        if not isinstance(kind.shape, Prose | Image | Sealed):
            require(item["call_id"] not in self._call_ids, "no two calls share a call id")
            self._call_ids.add(item["call_id"])
        self._ids.add(item["id"])
        self._seats += 1
        self._open[index] = OpenItem(item, kind)

    def _given_up(self, event: Event) -> None:
        open_item = self._opened(event)
        require(event["item_id"] == open_item.item["id"], "item_id and output_index name the same item")
        require(event["response_id"] == self._first["id"], "an item is given up in its own response")
        self._ends_by_client = True
        del self._open[event["output_index"]]

    def _opened(self, event: Event) -> OpenItem:
        open_item = self._open.get(event["output_index"])
        if open_item is None:
            raise broken(f"{event['type']} is about an item that is open")
        return open_item

    def _item_done(self, event: Event) -> None:
        open_item, item = self._opened(event), event["item"]
        added, kind = open_item.item, open_item.kind
        require(item.get("type") == added["type"], "the type of an item never changes")
        kind.check(item)
        require(item["id"] == added["id"], "the id of an item never changes")
        for key in added.keys() - kind.grows - {"status"}:
            require(item.get(key) == added[key], f"{key} of an item never changes")
        status = item.get("status")
        require(
            status in (kind.shape.ends if isinstance(kind.shape, Image) else ("completed", "incomplete"))
            or isinstance(kind.shape, Sealed),
            "a done item is completed or incomplete",
        )
        require(open_item.part is None, "an item is done only when its parts are")
        if isinstance(kind.shape, Call):
            self._call_done(open_item, kind.shape, item)
        elif isinstance(kind.shape, Action):
            action_done(open_item, kind.shape, item)
        elif isinstance(kind.shape, Sealed):
            require(bool(item[kind.shape.field]), "what is sealed is there when it is done")
        elif isinstance(kind.shape, Image):
            require(open_item.said == list(kind.shape.steps), "an image is done once it is completed")
            require(item["status"] in kind.shape.ends and bool(item.get(kind.shape.result)), "a done image is there")
        else:
            for field, parts in open_item.parts.items():
                require(item.get(field, []) == parts, f"{field} of a done item equals its done parts")
            items = [part for parts in open_item.parts.values() for part in parts]
            sealed = item.get("encrypted_content", "AM1.")
            require(is_text(sealed) and sealed != "", "what an item carries sealed is a text, and not empty")
            only_carries = "encrypted_content" in item and not items
            speaks = any(_says_something(part) for part in items)
            require(speaks or only_carries, "white space alone opens nothing, save what only carries")
        self._cut = status == "incomplete"
        self._done[event["output_index"]] = item
        del self._open[event["output_index"]]

    def _call_done(self, open_item: OpenItem, call: Call, item: dict[str, Any]) -> None:
        text = "".join(open_item.said)
        require(item[call.field] == text, f"{call.field} of a done call equal the joined deltas")
        if item["status"] == "incomplete":
            require(open_item.whole is None, "a call that was cut short is never announced as whole")
            return
        require(open_item.whole is not None, f"{call.done} comes before the item is done")
        require(text.strip() != "" or call.may_be_empty, "a call without arguments is {}")

    def _within(self, event: Event) -> None:
        open_item = self._opened(event)
        shape = open_item.kind.shape
        require(not isinstance(shape, Sealed), "nothing is told of a sealed item but its beginning and its end")
        if isinstance(shape, Action):
            require(shape.steps != "" and event["type"] in COMMAND.values(), "an event fits the type of its item")
            within_command(open_item, event)
            return
        require(event.get("item_id") == open_item.item["id"], "item_id and output_index name the same item")
        if isinstance(shape, Image):
            steps = shape.steps[len(open_item.said) : len(open_item.said) + 1]
            require(event["type"] in steps, "an image is begun, made and completed")
            open_item.said.append(event["type"])
            return
        if isinstance(shape, Call):
            self._within_call(open_item, shape, event)
        else:
            self._within_prose(open_item, event)

    def _within_call(self, open_item: OpenItem, call: Call, event: Event) -> None:
        require(event["type"] in (call.delta, call.done), "an event fits the type of its item")
        require(open_item.whole is None, f"nothing follows {call.done} but the done item")
        if event["type"] == call.delta:
            open_item.said.append(event["delta"])
            return
        open_item.whole = event[call.field]
        require(open_item.whole == "".join(open_item.said), f"{call.done} equals the joined deltas")
        for key in call.told_again:
            require(event.get(key) == open_item.item[key], f"{call.done} carries the {key} of its item")

    def _within_prose(self, open_item: OpenItem, event: Event) -> None:
        allowed = [PARTS[name] for name in open_item.kind.parts]
        kind = event["type"]
        require(any(kind in part.events for part in allowed), "an event fits the type of its item")
        if any(kind == part.added for part in allowed):
            self._part_added(open_item, event)
            return
        part = open_item.part
        if part is None:
            raise broken(f"{kind} is about a part that is open")
        require(kind in part.part.events, "an event fits the type of its part")
        require(event[part.part.index_key] == part.index, "an event names the part that is open")
        require(part.text is None or kind == part.part.done, "nothing follows the done text of a part but its done")
        if kind == part.part.delta:
            part.said.append(event["delta"])
            part.logprobs += event.get("logprobs", [])
        elif kind == part.part.annotated:
            require(event["annotation_index"] == len(part.annotations), "annotations are numbered in order")
            part.annotations.append(event["annotation"])
        elif kind == part.part.text_done:
            part.text = event[part.part.field]
            require(part.text == "".join(part.said), "the done text equals the joined deltas")
            require(event.get("logprobs", []) == part.logprobs, "the done log probabilities equal those of the deltas")
        else:
            self._part_done(open_item, part, event)

    def _part_added(self, open_item: OpenItem, event: Event) -> None:
        result = event["part"]
        require(result.get("type") in open_item.kind.parts, "a part fits the type of its item")
        part = PARTS[result["type"]]
        require(event["type"] == part.added, "an event fits the type of its part")
        require(result == part.born, "an added part carries empty values, not nulls")
        require(open_item.part is None, "one part is done before the next opens")
        require(event[part.index_key] == len(open_item.parts[part.home]), "parts are numbered in order")
        open_item.part = OpenPart(part, event[part.index_key])

    def _part_done(self, open_item: OpenItem, part: OpenPart, event: Event) -> None:
        require(part.text is not None, "the text of a part is done before the part is")
        expected = part.part.born | {part.part.field: part.text}
        if part.part.annotated:
            expected["annotations"] = part.annotations
        if part.logprobs:
            expected["logprobs"] = part.logprobs
        require(event["part"] == expected, "a done part equals what was said of it")
        open_item.parts[part.part.home].append(event["part"])
        open_item.part = None


def _says_something(part: dict[str, Any]) -> bool:
    return bool(part.get("text", "").strip() or part.get("annotations") or part.get("refusal"))
