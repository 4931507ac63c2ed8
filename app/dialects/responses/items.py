"""The items of a server's answer: which item an event is about, and how an item ends that its server left open.

    server               sends
    OpenAI, Azure        an `output_index` and an `item_id` in every event, always the same
    GitHub Copilot       every event has another `item_id`
    many proxies         several items have the same `output_index`
    others               neither, or items without an id

An event that names no known item is about the item that was begun last. An item keeps the id that was sent first.
"""

from typing import Any

from ...types.json import Json, objects
from ...types.response import ItemStatus, new_id

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
_SUMMARY = "response.reasoning_summary"
_WITHIN = (
    "response.content_part.", "response.output_text.", "response.refusal.", "response.reasoning_",
    "response.function_call_arguments.", "response.custom_tool_call_input.",
)  # fmt: skip
"""How the names of events begin that are about something inside an item."""
_OF_CALLS = _WITHIN[-2:]
PROSE = frozenset({"message", "reasoning"})
"""Items that have a meaning without their end. Of calls, clients run what is done."""


class OpenItem:
    """An item that its server has begun and not ended."""

    def __init__(self, index: int, added: Json) -> None:
        self.index = index
        self.added = added
        self.parts = 0
        """How many parts have begun, of either list."""
        self._finished: dict[str, list[Json]] = {}
        self._part: Json | None = None
        """The open part."""
        self._spot: Json = {}
        """The members that tell where it is."""
        self._texts: list[str] = []
        self._logprobs: list[Any] = []
        self._is_whole = False

    def read(self, name: str, event: Json) -> None:
        """An event about something inside it."""
        part = event.get("part")
        if name.endswith("_part.added") and isinstance(part, dict):
            self._part, self._texts, self._logprobs, self._is_whole = part, [], [], False
            index = "summary_index" if name.startswith(_SUMMARY) else "content_index"
            self._spot = {key: event[key] for key in ("item_id", "output_index", index)}
            self.parts += 1
        elif name.endswith("_part.done") and isinstance(part, dict):
            self._finish(part)
        elif isinstance(delta := event.get("delta"), str):
            self._texts.append(delta)
            self._logprobs += objects(event.get("logprobs"))
        elif name.endswith(".done"):
            self._is_whole = True
        elif self._part is not None and "annotation" in event:
            self._part = {**self._part, "annotations": [*objects(self._part.get("annotations")), event["annotation"]]}

    def close(self, status: ItemStatus) -> list[Json]:
        """The events that end it as far as it was written."""
        events: list[Json] = []
        if self._part is not None:
            kind, is_summary = str(self._part.get("type")), "summary_index" in self._spot
            text = {"refusal" if kind == "refusal" else "text": "".join(self._texts)}
            if not self._is_whole:
                logprobs = {"logprobs": self._logprobs} if kind == "output_text" else {}
                name = f"response.{'reasoning_' * is_summary}{kind}.done"
                events.append({"type": name, **self._spot, **text, **logprobs})
            part = {**self._part, **text, **({"logprobs": self._logprobs} if self._logprobs else {})}
            name = f"{_SUMMARY}_part.done" if is_summary else "response.content_part.done"
            events.append({"type": name, **self._spot, "part": part})
            self._finish(part)
        item = {**self.added, **self._finished, "status": status}
        return [*events, {"type": DONE, "output_index": self.index, "item": item}]

    def _finish(self, part: Json) -> None:
        self._finished.setdefault("summary" if "summary_index" in self._spot else "content", []).append(part)
        self._part = None


class Items:
    """The items of one answer, by their positions."""

    def __init__(self) -> None:
        self.open: dict[int, OpenItem] = {}
        self._done: dict[int, Json] = {}
        self._ids: dict[int, str] = {}
        """The id that was sent of each item."""
        self._known: dict[str, int] = {}
        """The positions of items, by the ids by which events may name them."""
        self._moved: dict[int, int] = {}
        """The position of the newest item, by the one that it has in common with another."""

    @property
    def done(self) -> list[Json]:
        """The finished items, in the order of their positions."""
        return [self._done[index] for index in sorted(self._done)]

    def place(self, name: str, event: Json) -> None:
        """Supplies what an event about an item lacks: its position, its ids, the index of its part."""
        item = event.get("item")
        if isinstance(item, dict):
            event["output_index"] = self._place_item(name, item, event.get("output_index"))
            return
        if not (event.keys() & {"output_index", "item_id"} or name.startswith(_WITHIN)):
            return
        index = self._known.get(str(event.get("item_id")), self._at(event.get("output_index")))
        event["output_index"] = index
        if index in self._ids:
            event["item_id"] = self._ids[index]
        key = "summary_index" if name.startswith(_SUMMARY) else "content_index"
        is_part = name.startswith(_WITHIN) and not name.startswith(_OF_CALLS)
        if is_part and key not in event and (opened := self.open.get(index)) is not None:
            event[key] = opened.parts if name.endswith("_part.added") else max(opened.parts - 1, 0)

    def keep(self, name: str, event: Json) -> None:
        """Remembers what an event tells, which has its place."""
        index, item = event.get("output_index"), event.get("item")
        if not isinstance(index, int):
            return
        if name == ADDED and isinstance(item, dict):
            self.open[index] = OpenItem(index, item)
        elif name == DONE and isinstance(item, dict):
            self.open.pop(index, None)
            self._done[index] = item
        elif index in self.open:
            self.open[index].read(name, event)

    def late(self, output: list[Any]) -> list[Json]:
        """The events that are missing of the items in a complete response: some servers begin or end none."""
        items = [item for item in output if isinstance(item, dict)]
        in_order = len(items) == len(self._ids)  # where ids change, too
        events: list[Json] = []
        for at, item in enumerate(items):
            index = self._by_ids(item)
            index = sorted(self._ids)[at] if index is None and in_order else index
            if index is None:
                empty = {key: type(item[key])() for key in ("content", "summary", "arguments", "input") if key in item}
                events.append({"type": ADDED, "item": {**item, **empty, "status": "in_progress"}})
            if index not in self._done:
                events.append({"type": DONE, "item": item, **({} if index is None else {"output_index": index})})
        return events

    def _place_item(self, name: str, item: Json, given: Any) -> int:
        """The position of the item of this event, which gets the id that was sent first."""
        index = self._by_ids(item)
        if name == ADDED:
            free = max(self._ids, default=-1) + 1
            index = given if type(given) is int and given not in self._ids else free
            if type(given) is int and given != index:
                self._moved[given] = index
        elif index is None:
            index = self._at(given)
        if index not in self._ids:
            self._ids[index] = str(item.get("id") or new_id(_PREFIXES.get(str(item.get("type")), "item")))
        for known in (item.get("id"), item.get("call_id")):
            if isinstance(known, str):
                self._known[known] = index
        item["id"] = self._ids[index]
        return index

    def _by_ids(self, item: Json) -> int | None:
        return self._known.get(str(item.get("id")), self._known.get(str(item.get("call_id"))))

    def _at(self, given: Any) -> int:
        """The position that an event names; without one, that of the newest item."""
        if type(given) is int:
            return self._moved.get(given, given)
        return max(self._ids, default=0)


def without_refusals(event: Json) -> Json:
    """The event with refusals as text: Codex shows nothing of a message with a refusal in it."""
    if event["type"].startswith("response.refusal."):
        names = {"refusal": "text"}
        event = {names.get(name, name): value for name, value in event.items()} | {"logprobs": []}
        event["type"] = event["type"].replace("refusal", "output_text")
    told: Json = _as_text(event)
    return told


def _as_text(value: Any) -> Any:
    match value:
        case {"type": "refusal", "refusal": text}:
            return {"type": "output_text", "text": text, "annotations": []}
        case dict():
            return {name: _as_text(held) for name, held in value.items()}
        case list():
            return [_as_text(held) for held in value]
        case _:
            return value
