"""Supplies the positions and ids of a relayed answer's events, for servers that leave them out or change them.

    server                sends
    llama.cpp             no `output_index`, no `content_index`; calls have no `id` of their own
    GitHub Copilot        every event has another `item_id`
    many proxies          several items have the same `output_index`
    most others           all of them, and always the same

An event without `output_index` is about the item with its ids; without a known id, about the item that was begun last.
An item that begins at the position of another one gets the next free position.
An item keeps the id that was sent first, in every event and in the final response.
"""

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from .relayed_items import CALLS, PART_KINDS

Json = dict[str, Any]

ADDED: Final = "response.output_item.added"
DONE: Final = "response.output_item.done"

_INDEX_KEYS: Final = {
    f"{beginning}.{ending}": kind.index_key
    for kind in PART_KINDS.values()
    for beginning in (kind.part_events, kind.text_events)
    for ending in ("added", "delta", "done")
} | {"response.output_text.annotation.added": "content_index"}
"""The key of a part's index, by the names of the events about it."""
_PART_BEGINS: Final = frozenset(f"{kind.part_events}.added" for kind in PART_KINDS.values())
_OF_CALLS: Final = frozenset(f"{name}.{ending}" for name in CALLS.values() for ending in ("delta", "done"))
_EMPTY: Final[dict[str, dict[str, Any]]] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}
"""The empty fields of an item when it begins: clients append to them."""
_PREFIXES: Final = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
MOST_LATE: Final = 256
"""Items that are begun and ended at once, when the answer is over. Each takes about a tenth of a millisecond."""


@dataclass(eq=False)
class _KnownItem:
    kind: str
    id: str
    done: bool = False
    parts: dict[str, int] = field(default_factory=dict)
    """How many parts have begun, by the key of their index."""


class Positions:
    """The items of one answer, by `output_index`. `new_id` makes an id for an item that came without one."""

    def __init__(self, new_id: Callable[[str], str]) -> None:
        self._new_id = new_id
        self._items: dict[int, _KnownItem] = {}
        self._open: dict[str, list[int]] = {}
        """Positions of items that were not done when they were added here, by type, in the order of their beginning."""
        self._index_of_id: dict[str, int] = {}
        """The ids in events that began or ended items. Ids of deltas are not kept: there may be millions."""
        self._moved: dict[int, int] = {}
        """The position of the item that began last, by the one that it has in common with another item."""
        self._next = 0
        self._last: int | None = None

    def complete(self, name: str, event: Json) -> bool:
        """Supplies the fields that the event leaves out. Returns whether it is about an item."""
        index = event.get("output_index")
        index = self._own(index, name, event) if type(index) is int else self._find(name, event)
        if index is None:
            return False
        event["output_index"] = index
        wire_item = event.get("item")
        if isinstance(wire_item, dict):
            self._record_item(name, index, wire_item, event)
        item = self._items.get(index)
        if item is not None and ("item_id" in event or name in _INDEX_KEYS or name in _OF_CALLS):
            event["item_id"] = item.id
        if item is not None and name in _INDEX_KEYS:
            self._complete_part(name, item, event)
        return True

    def final(self, output: list[Any]) -> list[Any]:
        """The items of the final response, with the ids that their events had."""
        return [
            item if index is None or not isinstance(item, dict) else {**item, "id": self._items[index].id}
            for index, item in zip(self._match(output), output, strict=True)
        ]

    def missing(self, output: list[Any]) -> list[Json]:
        """The events that are missing of the items of a complete answer: some servers begin or end no items.

        They are made at once, so there are none for more than `MOST_LATE` items.
        """
        events: list[Json] = []
        free, late = self._next, 0
        for index, item in zip(self._match(output), output, strict=True):
            if not isinstance(item, dict) or not isinstance(kind := item.get("type"), str):
                continue
            if index is None:
                begun = {**item, "status": "in_progress", **deepcopy(_EMPTY.get(kind, {}))}
                events.append({"type": ADDED, "output_index": free, "item": begun})
            elif self._items[index].done:
                continue
            events.append({"type": DONE, "output_index": free if index is None else index, "item": {**item}})
            free += index is None
            late += 1
            if late == MOST_LATE:
                break
        return events

    def _match(self, output: list[Any]) -> Sequence[int | None]:
        """The positions of these items: by their ids, if all are known; otherwise in order, or by their types."""
        indices = [self._by_ids(item) for item in output]
        if None not in indices and len(set(indices)) == len(indices):
            return indices
        if len(self._items) == len(output):
            return sorted(self._items)
        taken, free = set(indices), dict[str, deque[int]]()
        for index, known in sorted(self._items.items()):
            if index not in taken:
                free.setdefault(known.kind, deque()).append(index)
        for at, item in enumerate(output):
            same = free.get(str(item.get("type"))) if isinstance(item, dict) else None
            if indices[at] is None and same:
                indices[at] = same.popleft()
        return indices

    def _own(self, given: int, name: str, event: Json) -> int:
        """The position of this event's item, which other items may have, too."""
        index = self._moved.get(given, given)
        wire_item, item_id = event.get("item"), event.get("item_id")
        if not isinstance(wire_item, dict):
            return self._index_of_id.get(item_id, index) if given in self._moved and isinstance(item_id, str) else index
        known, named = self._items.get(index), self._by_ids(wire_item)
        if name == ADDED:
            is_another = known is not None and (known.done or named != index)
        elif named is not None:
            return named if given in self._moved else index
        else:
            is_another = known is not None and known.done
        if is_another:
            index = self._moved[given] = self._next
        return index

    def _find(self, name: str, event: Json) -> int | None:
        wire_item = event.get("item")
        if isinstance(wire_item, dict):
            if name == ADDED:
                return self._next
            index = self._by_ids(wire_item)
            return self._last_open(str(wire_item.get("type"))) if index is None else index
        item_id = event.get("item_id")
        if isinstance(item_id, str):
            return self._index_of_id.get(item_id, self._last)
        return self._last if name in _INDEX_KEYS or name in _OF_CALLS else None

    def _by_ids(self, item: Any) -> int | None:
        return next((self._index_of_id[known] for known in _ids(item) if known in self._index_of_id), None)

    def _last_open(self, kind: str) -> int:
        """The position of the item of this type that was begun last and is not done; a new position without one."""
        begun = self._open.get(kind, [])
        while begun and self._items[begun[-1]].done:
            begun.pop()
        return begun[-1] if begun else self._next

    def _record_item(self, name: str, index: int, wire_item: Json, event: Json) -> None:
        item = self._items.get(index)
        if item is None:
            kind = str(wire_item.get("type"))
            ids = _strings(wire_item.get("id"), event.get("item_id"), wire_item.get("call_id"))
            item_id = ids[0] if ids else self._new_id(_PREFIXES.get(kind, "item"))
            item = self._items[index] = _KnownItem(kind, item_id)
            self._open.setdefault(kind, []).append(index)
            self._next = max(self._next, index + 1)
            self._last = index
        for known in _ids(wire_item):
            self._index_of_id[known] = index
        item.done = item.done or name == DONE
        wire_item["id"] = item.id
        if name == ADDED:
            empty = _EMPTY.get(str(wire_item.get("type")), {})
            wire_item |= {key: copy(value) for key, value in empty.items() if wire_item.get(key) is None}

    @staticmethod
    def _complete_part(name: str, item: _KnownItem, event: Json) -> None:
        key = _INDEX_KEYS[name]
        begun = item.parts.get(key, 0)
        index = event.get(key)
        if type(index) is not int:
            index = event[key] = begun if name in _PART_BEGINS else max(begun - 1, 0)
        if name in _PART_BEGINS:
            item.parts[key] = max(begun, index + 1)


def _ids(item: Any) -> list[str]:
    """The ids by which later events may refer to this item."""
    return _strings(item.get("id"), item.get("call_id")) if isinstance(item, dict) else []


def _strings(*values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]
