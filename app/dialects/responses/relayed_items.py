"""What an upstream has opened and not closed yet: enough to give a sign of life, and to close it in its stead."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

Json = dict[str, Any]


class Kind(NamedTuple):
    """A kind of part: the beginnings of its events' names, the key of its place, where it ends up."""

    part: str
    text: str
    place: str
    field: str
    home: str


_CONTENT: Final = ("response.content_part", "content_index", "content")
KINDS: Final = {
    "output_text": Kind(_CONTENT[0], "response.output_text", _CONTENT[1], "text", _CONTENT[2]),
    "refusal": Kind(_CONTENT[0], "response.refusal", _CONTENT[1], "refusal", _CONTENT[2]),
    "reasoning_text": Kind(_CONTENT[0], "response.reasoning_text", _CONTENT[1], "text", _CONTENT[2]),
    "summary_text": Kind(
        "response.reasoning_summary_part", "response.reasoning_summary_text", "summary_index", "text", "summary"
    ),
}
AN_EVENT: Final = 256
"""Bytes that an item or a part takes at least, however short it is on the wire."""
PROSE: Final = {"message": ("content",), "reasoning": ("summary", "content")}
"""Items that can be closed when they are cut, and where they keep their parts. Of anything else, a call above all, the
beginning is worth nothing: clients run what is done."""

CALLS: Final = {
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}
"""Calls that grow, and the beginning of their events' names."""

_DELTAS: Final = {f"{kind.text}.delta": kind for kind in KINDS.values()}
_TEXTS_DONE: Final = {f"{kind.text}.done": kind for kind in KINDS.values()}
_CALLS_DONE: Final = {f"{name}.done" for name in CALLS.values()}


@dataclass(eq=False)
class _Part:
    kind: Kind
    told: Json
    said: list[str] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    whole: str | None = None
    """Its text, once that is done."""

    def close(self, about: Json) -> list[Json]:
        """What closes it, as far as it was written."""
        events: list[Json] = []
        if self.whole is None:
            self.whole = "".join(self.said)
            logprobs = {"logprobs": self.logprobs} if self.kind is KINDS["output_text"] else {}
            events.append({"type": f"{self.kind.text}.done", **about, self.kind.field: self.whole, **logprobs})
        heard = {"annotations": self.annotations, "logprobs": self.logprobs}
        told = {**self.told, self.kind.field: self.whole, **{key: kept for key, kept in heard.items() if kept}}
        return [*events, {"type": f"{self.kind.part}.done", **about, "part": told}]


@dataclass(eq=False)
class _ItemSoFar:
    told: Json
    parts: dict[tuple[str, Any], _Part] = field(default_factory=dict)
    """By the key of their place, and the place."""
    finished: dict[str, list[Json]] = field(default_factory=lambda: {"content": [], "summary": []})
    seen: set[tuple[str, Any]] = field(default_factory=set)
    """The places of all parts that were ever begun."""
    grows: str = ""
    """The name of a call's deltas, as long as more may come."""

    def missing(self, name: str, event: Json) -> Json | None:
        """The event that begins the part which this one takes for begun; None if it was begun, or nobody knows."""
        kind = _DELTAS.get(name) or _TEXTS_DONE.get(name)
        homes = PROSE.get(str(self.told.get("type")), ())
        if kind is None or kind.home not in homes or (kind.place, event.get(kind.place)) in self.seen:
            return None
        empty: Json = {"type": next(name for name, known in KINDS.items() if known is kind), kind.field: ""}
        if kind is KINDS["output_text"]:
            empty["annotations"] = []
        place = {key: event.get(key) for key in ("item_id", "output_index", kind.place)}
        return {"type": f"{kind.part}.added", **place, "part": empty}

    def unclosed(self, index: int) -> list[Json]:
        """What closes the parts that are open, as far as they were written."""
        events: list[Json] = []
        for (place, seat), part in self.parts.items():
            events += part.close({"item_id": self.told.get("id"), "output_index": index, place: seat})
            self.finished[part.kind.home].append(events[-1]["part"])
        self.parts.clear()
        return events

    def see(self, name: str, event: Json) -> None:
        """One more event about this item."""
        if (kind := _DELTAS.get(name)) is not None:
            part, said = self._part(kind.place, event), event.get("delta")
            if part is not None and isinstance(said, str):
                part.said.append(said)
                if isinstance(logprobs := event.get("logprobs"), list):
                    part.logprobs += logprobs
        elif (kind := _TEXTS_DONE.get(name)) is not None:
            part, whole = self._part(kind.place, event), event.get(kind.field)
            if part is not None and isinstance(whole, str):
                part.whole = whole
        elif name == "response.output_text.annotation.added":
            if (part := self._part("content_index", event)) is not None:
                part.annotations.append(event.get("annotation"))
        elif name in _CALLS_DONE:
            self.grows = ""
        elif isinstance(told := event.get("part"), dict):
            self._see_part(name, told, event)

    def _see_part(self, name: str, told: Json, event: Json) -> None:
        kind = KINDS.get(str(told.get("type")))
        if kind is None or type(event.get(kind.place)) is not int:
            return
        place = (kind.place, event[kind.place])
        if name == f"{kind.part}.added":
            self.parts[place] = _Part(kind, told)
            self.seen.add(place)
        elif name == f"{kind.part}.done":
            self.parts.pop(place, None)
            self.finished[kind.home].append(told)

    def _part(self, place: str, event: Json) -> _Part | None:
        index = event.get(place)
        return self.parts.get((place, index)) if isinstance(index, int) else None


class OpenItems:
    """Watches a stream go by."""

    def __init__(self) -> None:
        self._items: dict[Any, _ItemSoFar] = {}
        self._done: dict[Any, Json] = {}
        self.held = 0
        """How much is remembered of the answer, in bytes, or nearly so."""

    @property
    def done(self) -> list[Json]:
        """The items that are done, in the order of their seats."""
        return [self._done[seat] for seat in sorted(self._done)]

    def weigh(self, event: Json, size: int) -> None:
        """Counts an event of this size: of one that only brings more text that text, of any other all of it."""
        delta = event.get("delta")
        self.held += len(delta) if isinstance(delta, str) and not event.get("logprobs") else size + AN_EVENT

    def missing(self, name: str, event: Json) -> list[Json]:
        """What an upstream must say before this event and did not: clients look for the part that a delta is of."""
        item = self._items.get(event["output_index"])
        if item is None:
            return []
        if name == "response.output_item.done":
            return item.unclosed(event["output_index"])
        begun = item.missing(name, event)
        return [] if begun is None else [begun]

    def see(self, name: str, event: Json) -> None:
        """One more event, about an item. One that fits nothing, or is malformed, is no trouble: it was passed on."""
        seat, told = event["output_index"], event.get("item")
        if isinstance(told, dict) and name == "response.output_item.added":
            grows = CALLS.get(str(told.get("type")))
            self._items[seat] = _ItemSoFar(told, grows=f"{grows}.delta" if grows else "")
        elif isinstance(told, dict) and name == "response.output_item.done":
            self._items.pop(seat, None)
            self._done[seat] = told
        elif (item := self._items.get(seat)) is not None:
            item.see(name, event)

    def empty_delta(self) -> Json | None:
        """An empty delta of whatever is growing, if anything is."""
        for seat, item in reversed(self._items.items()):
            about = {"item_id": item.told.get("id"), "output_index": seat}
            for (place, index), part in reversed(item.parts.items()):
                if part.whole is None:
                    empty: Json = {"logprobs": []} if part.kind is KINDS["output_text"] else {}
                    return {"type": f"{part.kind.text}.delta", **about, place: index, "delta": "", **empty}
            if item.grows:
                return {"type": item.grows, **about, "delta": ""}
        return None

    def close(self, status: str = "incomplete") -> list[Json]:
        """What closes all prose that is open, as far as it was written. Everything else is forgotten."""
        events: list[Json] = []
        for seat, item in sorted(self._items.items()):
            homes = PROSE.get(str(item.told.get("type")))
            if homes is None:
                continue
            events += item.unclosed(seat)
            parts = {home: item.finished[home] for home in homes if home in item.told or item.finished[home]}
            told = {**item.told, **parts, "status": status}
            events.append({"type": "response.output_item.done", "output_index": seat, "item": told})
            self._done[seat] = told
        self._items.clear()
        return events
