"""Parses input items, each by its `type`."""

from typing import Any, Final

from ..bridges.registry import BRIDGES
from ..protocol.problems import ProblemError, refuse
from ..protocol.request.input_items import ITEMS, InputItem, MessageItem, UnknownItem
from .bounds import Bounds, by_setting, within
from .shaped import shaped
from .validation import an_object, type_of, wrong_type

NO_PICTURE: Final = "[A picture was left out here: this server keeps no files.]"
_LISTS: Final = frozenset({"content", "output", "summary", "tools"})
_LISTS_OF_ACTIONS: Final = ("command", "commands")
_OF_MESSAGES: Final = {name for name, field in MessageItem.model_fields.items() if field.is_required()}
"""The members that every message must have."""


def entries_of(raw: object) -> int:
    """How many parts, thoughts, commands, outputs or tools this item has, or how many tools this tool has."""
    if not isinstance(raw, dict):
        return 0
    count = 0
    for name, held in raw.items():
        if type(held) is list and name in _LISTS:
            count += len(held)
            if name == "tools":
                count += sum(map(entries_of, held))
        elif name == "action" and isinstance(held, dict):
            count += sum(len(words) for key in _LISTS_OF_ACTIONS if isinstance(words := held.get(key), list))
    return count


def item_shapes() -> list[type[InputItem]]:
    """The shapes of all input items."""
    return [*dict.fromkeys(ITEMS.values()), *BRIDGES.item_shapes.values(), UnknownItem]


def parse_input(raw: object, bounds: Bounds) -> str | list[InputItem]:
    """The `input` of a request. All entries are counted before any item is read."""
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, list):
        raise wrong_type("input", "a string or an array of items", raw)
    items = within(raw, bounds.max_items, "input", "max_items")
    entries = 0
    for index, item in enumerate(items):
        entries += entries_of(item)
        if entries > bounds.max_parts:
            path = f"input[{index}]"
            message = (
                f"Invalid value for '{path}': up to here the input contains {entries} content parts and other list "
                f"entries, and at most {bounds.max_parts} are allowed{by_setting('max_parts')}."
            )
            raise refuse("invalid_value", message, path)
    return [parse_item(item, f"input[{index}]") for index, item in enumerate(items)]


def parse_item(raw: object, path: str) -> InputItem:
    """One item, by its `type`; without one it is a message."""
    item = an_object(raw, path)
    kind = item.get("type")
    if type(kind) is not str:
        kind = _kind(item, path)
        item = {**item, "type": kind}
    if kind == "item_reference":
        raise _reference(path)
    if kind == "computer_call_output":
        item = {**item, "output": _with_picture(item.get("output"))}
    shape: type[InputItem] = ITEMS[kind] if kind in ITEMS else BRIDGES.item_shapes.get(kind, UnknownItem)
    return shaped(shape, item, path)


def _kind(item: dict[str, Any], path: str) -> str:
    if item.get("type") is not None:
        return type_of(item, path)
    if item.keys().isdisjoint(_OF_MESSAGES) and item.get("id") is not None:
        return "item_reference"  # OpenAI's own types let a client leave out the type
    return "message"


def _with_picture(output: object) -> object:
    """What a computer showed, as content parts."""
    if output is not None and not isinstance(output, dict):
        return output
    url = (output or {}).get("image_url")
    if isinstance(url, str):
        return [{"type": "input_image", "image_url": url, "detail": (output or {}).get("detail")}]
    return [{"type": "input_text", "text": NO_PICTURE}]


def _reference(path: str) -> ProblemError:
    return refuse(
        "unsupported_parameter",
        f"'{path}' refers to an item stored by an earlier response. This server is stateless and stores nothing: "
        "send the items themselves in 'input', and set `store: false` so that your client keeps them.",
        path,
    )
