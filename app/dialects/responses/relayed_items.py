"""Follows the open items of a relayed answer, for keep-alive events and to close items that the upstream does not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ...emitter.ledger import Ledger
from ...emitter.rules import ItemKind, Outcome
from ...protocol.output_items import ItemStatus
from ...protocol.problems import Problem

Json = dict[str, Any]


class PartKind(NamedTuple):
    """A kind of part: how its events' names begin, and the keys that hold its index, its text and the part itself."""

    part_events: str
    text_events: str
    index_key: str
    text_key: str
    list_key: str


_CONTENT: Final = ("response.content_part", "content_index", "content")
PART_KINDS: Final = {
    "output_text": PartKind(_CONTENT[0], "response.output_text", _CONTENT[1], "text", _CONTENT[2]),
    "refusal": PartKind(_CONTENT[0], "response.refusal", _CONTENT[1], "refusal", _CONTENT[2]),
    "reasoning_text": PartKind(_CONTENT[0], "response.reasoning_text", _CONTENT[1], "text", _CONTENT[2]),
    "summary_text": PartKind(
        "response.reasoning_summary_part", "response.reasoning_summary_text", "summary_index", "text", "summary"
    ),
}
MOST_UNFINISHED: Final = 2048
"""Items and parts that may be open at the same time. Closing one takes some microseconds."""
TOO_MANY_UNFINISHED: Final = Problem(
    code="upstream_error",
    message=f"The model's server left more than {MOST_UNFINISHED} items and parts of its answer unfinished.",
)
AN_EVENT: Final = 256
"""Bytes of memory that any item or part takes, however short it is on the wire."""
ITEM_KINDS: Final = {"message": ItemKind.MESSAGE, "reasoning": ItemKind.REASONING}
"""Items that this server may close for the upstream. No others: clients run a call that is done."""
PART_LISTS: Final = {"message": ("content",), "reasoning": ("summary", "content")}
"""The keys under which they hold their parts."""

CALLS: Final = {
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}
"""Calls that grow, and how their events' names begin."""

_DELTAS: Final = {f"{kind.text_events}.delta": kind for kind in PART_KINDS.values()}
_TEXTS_DONE: Final = {f"{kind.text_events}.done": kind for kind in PART_KINDS.values()}
_CALLS_DONE: Final = {f"{name}.done" for name in CALLS.values()}


@dataclass(eq=False)
class OpenRelayedPart:
    """A part that the upstream has begun and not ended."""

    kind: PartKind
    added: Json
    """The part as it was added."""
    texts: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    whole_text: str | None = None
    """Its complete text, when the upstream has sent that."""

    def add(self, event: Json) -> None:
        """Records a delta."""
        text = event.get("delta")
        if isinstance(text, str):
            self.texts.append(text)
            if isinstance(logprobs := event.get("logprobs"), list):
                self.logprobs += logprobs

    def close(self, ids: Json) -> list[Json]:
        """The events that close it as far as it was written. `ids` are the fields that identify it."""
        events: list[Json] = []
        if self.whole_text is None:
            self.whole_text = "".join(self.texts)
            logprobs = {"logprobs": self.logprobs} if self.kind is PART_KINDS["output_text"] else {}
            text = {self.kind.text_key: self.whole_text, **logprobs}
            events.append({"type": f"{self.kind.text_events}.done", **ids, **text})
        collected = {"annotations": self.annotations, "logprobs": self.logprobs}
        part = (
            self.added
            | {self.kind.text_key: self.whole_text}
            | {key: value for key, value in collected.items() if value}
        )
        return [*events, {"type": f"{self.kind.part_events}.done", **ids, "part": part}]


@dataclass(eq=False)
class OpenRelayedItem:
    """An item that the upstream has added and not ended."""

    index: int
    added: Json
    """The item as it was added."""
    growing: str = ""
    """The name of a call's delta events, while more may come."""
    parts: dict[tuple[str, Any], OpenRelayedPart] = field(default_factory=dict)
    """The open ones, by the key of their index and the index."""
    finished: dict[str, list[Json]] = field(default_factory=lambda: {"content": [], "summary": []})
    begun: set[tuple[str, Any]] = field(default_factory=set)
    """The keys and indices of all parts that were ever begun."""

    @property
    def kind(self) -> ItemKind:
        """Its kind, for the table of endings."""
        return ITEM_KINDS.get(str(self.added.get("type")), ItemKind.NOT_ENDED)

    def empty_delta(self) -> Json | None:
        """An empty delta of the part or call that is growing; None if there is none."""
        ids = {"item_id": self.added.get("id"), "output_index": self.index}
        for (key, index), part in reversed(self.parts.items()):
            if part.whole_text is None:
                logprobs: Json = {"logprobs": []} if part.kind is PART_KINDS["output_text"] else {}
                return {"type": f"{part.kind.text_events}.delta", **ids, key: index, "delta": "", **logprobs}
        return {"type": self.growing, **ids, "delta": ""} if self.growing else None

    def close(self, status: ItemStatus) -> tuple[Json, list[Json]]:
        """The item as far as it was written, and the events that close it."""
        events = self.close_parts()
        keys = PART_LISTS.get(str(self.added.get("type")), ())
        parts = {key: self.finished[key] for key in keys if key in self.added or self.finished[key]}
        item = {**self.added, **parts, "status": status}
        return item, [*events, {"type": "response.output_item.done", "output_index": self.index, "item": item}]

    def close_parts(self) -> list[Json]:
        """The events that close the open parts, as far as they were written."""
        events: list[Json] = []
        for (key, index), part in self.parts.items():
            events += part.close({"item_id": self.added.get("id"), "output_index": self.index, key: index})
            self.finished[part.kind.list_key].append(events[-1]["part"])
        self.parts.clear()
        return events

    def missing(self, name: str, event: Json) -> Json | None:
        """The event that begins the part of this event. None if the part was begun, or is unknown."""
        kind = _DELTAS.get(name) or _TEXTS_DONE.get(name)
        if kind is None or (kind.index_key, event.get(kind.index_key)) in self.begun:
            return None
        if kind.list_key not in PART_LISTS.get(str(self.added.get("type")), ()):
            return None
        empty: Json = {"type": next(name for name, known in PART_KINDS.items() if known is kind), kind.text_key: ""}
        if kind is PART_KINDS["output_text"]:
            empty["annotations"] = []
        ids = {key: event.get(key) for key in ("item_id", "output_index", kind.index_key)}
        return {"type": f"{kind.part_events}.added", **ids, "part": empty}

    def record(self, name: str, event: Json) -> None:
        """Records an event about something inside the item."""
        if (kind := _DELTAS.get(name)) is not None:
            if (part := self.part(kind.index_key, event)) is not None:
                part.add(event)
        elif (kind := _TEXTS_DONE.get(name)) is not None:
            part, whole = self.part(kind.index_key, event), event.get(kind.text_key)
            if part is not None and isinstance(whole, str):
                part.whole_text = whole
        elif name == "response.output_text.annotation.added":
            if (part := self.part("content_index", event)) is not None:
                part.annotations.append(event.get("annotation"))
        elif name in _CALLS_DONE:
            self.growing = ""
        elif isinstance(part := event.get("part"), dict):
            self._record_part(name, part, event)

    def _record_part(self, name: str, part: Json, event: Json) -> None:
        kind = PART_KINDS.get(str(part.get("type")))
        if kind is None or type(event.get(kind.index_key)) is not int:
            return
        index = (kind.index_key, event[kind.index_key])
        if name == f"{kind.part_events}.added":
            self.parts[index] = OpenRelayedPart(kind, part)
            self.begun.add(index)
        elif name == f"{kind.part_events}.done":
            self.parts.pop(index, None)
            self.finished[kind.list_key].append(part)

    def part(self, key: str, event: Json) -> OpenRelayedPart | None:
        """The open part of this event, whose index has this key."""
        index = event.get(key)
        return self.parts.get((key, index)) if isinstance(index, int) else None


class RelayedItems:
    """Records the events about items: adds items to the ledger, and finishes them there."""

    def __init__(self, ledger: Ledger[OpenRelayedItem, Json, Json]) -> None:
        self._ledger = ledger
        self.size = 0
        """Approximate bytes of the answer that are kept."""
        self.unfinished = 0
        """Items and parts that are open: all of them may have to be closed at once."""

    def weigh(self, event: Json, size: int) -> None:
        """Counts an event of this size: only the text of a delta, but all of any other event."""
        delta = event.get("delta")
        self.size += len(delta) if isinstance(delta, str) and not event.get("logprobs") else size + AN_EVENT

    def missing(self, name: str, event: Json) -> list[Json]:
        """The events that must come before this one and did not: clients need a part before its deltas."""
        item = self._ledger.open.get(event["output_index"])
        if item is None:
            return []
        if name == "response.output_item.done":
            self.unfinished -= len(item.parts)
            return item.close_parts()
        begin = item.missing(name, event)
        return [] if begin is None else [begin]

    def record(self, name: str, event: Json) -> None:
        """Records an event about an item. An unknown or malformed one is ignored here, and passed on."""
        index, wire_item = event["output_index"], event.get("item")
        before = self._open_at(index)
        if isinstance(wire_item, dict) and name == "response.output_item.added":
            call = CALLS.get(str(wire_item.get("type")))
            self._ledger.open[index] = OpenRelayedItem(index, wire_item, growing=f"{call}.delta" if call else "")
        elif isinstance(wire_item, dict) and name == "response.output_item.done":
            self._ledger.finish(index, wire_item)
        elif (item := self._ledger.open.get(index)) is not None:
            item.record(name, event)
        self.unfinished += self._open_at(index) - before

    def given_up(self, outcomes: Mapping[ItemKind, Outcome], response_id: Any) -> list[Json]:
        """The events of the open items that are dropped because the client ends the answer."""
        return [
            {
                "type": "response.output_item.interrupted",
                "response_id": response_id,
                "item_id": item.added.get("id"),
                "output_index": index,
            }
            for index, item in sorted(self._ledger.open.items())
            if outcomes[item.kind] == "dropped"
        ]

    def _open_at(self, index: int) -> int:
        """How many are open there: an item and its parts, or none."""
        item = self._ledger.open.get(index)
        return 0 if item is None else 1 + len(item.parts)
