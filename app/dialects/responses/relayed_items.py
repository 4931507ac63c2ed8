"""What is open of a relayed answer: enough for a sign of life, and for closing it where the upstream does not."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from app.emitter.ledger import Ledger
from app.emitter.rules import ItemKind
from app.protocol.output_items import ItemStatus

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
AN_EVENT: Final = 256
"""Bytes that an item or a part takes at least, however short it is on the wire."""
ITEM_KINDS: Final = {"message": ItemKind.MESSAGE, "reasoning": ItemKind.REASONING}
"""Items that can be closed in the upstream's place. Any other is worth nothing before its end: clients run a call that
is done."""
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
class _OpenRelayedPart:
    kind: PartKind
    added: Json
    """The part as it was added."""
    texts: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    whole_text: str | None = None
    """Its text, once that is done."""

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
    """The name of a call's deltas, as long as more may come."""
    parts: dict[tuple[str, Any], _OpenRelayedPart] = field(default_factory=dict)
    """The open ones, by the key of their index and the index."""
    finished: dict[str, list[Json]] = field(default_factory=lambda: {"content": [], "summary": []})
    begun: set[tuple[str, Any]] = field(default_factory=set)
    """The indices of all parts that were ever begun, in the same form."""

    @property
    def kind(self) -> ItemKind:
        """Its kind, for the table of endings."""
        return ITEM_KINDS.get(str(self.added.get("type")), ItemKind.NOT_ENDED)

    def empty_delta(self) -> Json | None:
        """An empty delta of what is growing in it, if anything is."""
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
        """The event that begins the part which this event is about. None if it was begun, or cannot be known."""
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

    def see(self, name: str, event: Json) -> None:
        """Notes an event about something inside the item."""
        if (kind := _DELTAS.get(name)) is not None:
            part, text = self._part(kind.index_key, event), event.get("delta")
            if part is not None and isinstance(text, str):
                part.texts.append(text)
                if isinstance(logprobs := event.get("logprobs"), list):
                    part.logprobs += logprobs
        elif (kind := _TEXTS_DONE.get(name)) is not None:
            part, whole = self._part(kind.index_key, event), event.get(kind.text_key)
            if part is not None and isinstance(whole, str):
                part.whole_text = whole
        elif name == "response.output_text.annotation.added":
            if (part := self._part("content_index", event)) is not None:
                part.annotations.append(event.get("annotation"))
        elif name in _CALLS_DONE:
            self.growing = ""
        elif isinstance(given := event.get("part"), dict):
            self._see_part(name, given, event)

    def _see_part(self, name: str, given: Json, event: Json) -> None:
        kind = PART_KINDS.get(str(given.get("type")))
        if kind is None or type(event.get(kind.index_key)) is not int:
            return
        index = (kind.index_key, event[kind.index_key])
        if name == f"{kind.part_events}.added":
            self.parts[index] = _OpenRelayedPart(kind, given)
            self.begun.add(index)
        elif name == f"{kind.part_events}.done":
            self.parts.pop(index, None)
            self.finished[kind.list_key].append(given)

    def _part(self, key: str, event: Json) -> _OpenRelayedPart | None:
        index = event.get(key)
        return self.parts.get((key, index)) if isinstance(index, int) else None


class RelayedItems:
    """Follows the events about items, and enters what they begin and end in the ledger."""

    def __init__(self, ledger: Ledger[OpenRelayedItem, Json, Json]) -> None:
        self._ledger = ledger
        self.held = 0
        """Bytes of the answer that are remembered, or nearly so."""

    def weigh(self, event: Json, size: int) -> None:
        """Counts an event of this size: of one that only brings more text that text, of any other all of it."""
        delta = event.get("delta")
        self.held += len(delta) if isinstance(delta, str) and not event.get("logprobs") else size + AN_EVENT

    def missing(self, name: str, event: Json) -> list[Json]:
        """What must come before this event and did not: clients look for the part that a delta is of."""
        item = self._ledger.open.get(event["output_index"])
        if item is None:
            return []
        if name == "response.output_item.done":
            return item.close_parts()
        begins = item.missing(name, event)
        return [] if begins is None else [begins]

    def see(self, name: str, event: Json) -> None:
        """Notes an event about an item. One that fits nothing, or is malformed, is passed on all the same."""
        index, given = event["output_index"], event.get("item")
        if isinstance(given, dict) and name == "response.output_item.added":
            call = CALLS.get(str(given.get("type")))
            self._ledger.open[index] = OpenRelayedItem(index, given, growing=f"{call}.delta" if call else "")
        elif isinstance(given, dict) and name == "response.output_item.done":
            self._ledger.finish(index, given)
        elif (item := self._ledger.open.get(index)) is not None:
            item.see(name, event)
