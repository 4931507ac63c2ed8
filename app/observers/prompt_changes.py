"""What changed in a request since the turn before it, as the inspector shows it."""

from typing import Any, Final

import msgspec
from msgspec import Raw

from ..json_text import json_bytes, json_value
from ..protocol.request.plain_messages import as_items
from .item_digest import item_digest

Json = dict[str, Any]
Members = dict[str, Raw]
_in_order: Final = msgspec.json.Encoder(order="sorted").encode
LIST: Final = msgspec.json.Decoder(list[Raw])
_OTHERS: Final = frozenset({"input", "instructions", "previous_response_id", "tools"})
"""Members that are compared in ways of their own, or not at all."""


def changes(now: Members, before: Members, new_from: int | None) -> Json:
    """What differs. `new_from`: the first new item, if that is known; otherwise the inputs are compared."""
    items, length = items_of(now), len(items_of(now))
    if new_from is None:
        new_from = _common(items, items_of(before))
    names = [*now, *(name for name in before if name not in now)]
    return {
        "new_items": [min(new_from, length), length],
        "tools": _changed_tools(before.get("tools"), now.get("tools")),
        "instructions": _changed(before.get("instructions"), now.get("instructions")),
        "settings": [name for name in names if name not in _OTHERS and not _is_same(before.get(name), now.get(name))],
    }


def items_of(members: Members) -> list[Raw]:
    """The items of an input or an output, a text as a message."""
    given = members.get("input", members.get("output"))
    if given is None:
        return []
    raw = bytes(given)
    if raw[:1] == b'"':
        return [Raw(json_bytes(item)) for item in as_items(json_value(raw))]
    return LIST.decode(raw) if raw[:1] == b"[" else []


def _common(now: list[Raw], before: list[Raw]) -> int:
    """How many items are the same from the beginning on."""
    for index, (one, other) in enumerate(zip(now, before, strict=False)):
        if one != other and item_digest(json_value(bytes(one))) != item_digest(json_value(bytes(other))):
            return index
    return min(len(now), len(before))


def _is_same(before: Raw | None, now: Raw | None) -> bool:
    """Whether they mean the same: Codex writes the members of an object in any order."""
    if before is None or now is None or before == now:
        return before == now
    return _in_order(json_value(bytes(before))) == _in_order(json_value(bytes(now)))


def _changed(before: Raw | None, now: Raw | None) -> str:
    if _is_same(before, now):
        return "same"
    if before is None:
        return "added"
    return "removed" if now is None else "changed"


def _changed_tools(before: Raw | None, now: Raw | None) -> Json:
    if before == now:
        return {"added": [], "removed": [], "changed": [], "is_reordered": False}
    old, new = _tools(before), _tools(now)
    same = [name for name in new if name in old]
    return {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in same if old[name] != new[name]],
        "is_reordered": same != [name for name in old if name in new],
    }


def _tools(raw: Raw | None) -> dict[str, Any]:
    """Tools by their names; those without one by their type."""
    tools = json_value(bytes(raw)) if raw is not None else None
    found: dict[str, Any] = {}
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            function = tool.get("function")
            name = tool.get("name") or (function.get("name") if isinstance(function, dict) else None)
            found[str(name or tool.get("server_label") or tool.get("type"))] = tool
    return found
