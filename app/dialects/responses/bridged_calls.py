"""The calls of a relayed answer whose functions carry other tools: they become calls of the client's tools.

Events of such a call go to the open item that the tool's bridge makes, as in any other dialect, and the events of that
item are sent. All other events pass unchanged. It is done after positions and ids were supplied and after it was found
out whether the call was cut (`call_ends.py`), so the rest of the relay sees the events of a server that knows the tool.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ...bridges.table import BridgeTable
from ...emitter.open_items import ItemPosition, OpenCall
from ...json_text import json_bytes
from ...protocol.events import Event
from ...protocol.output_items import ItemStatus
from .call_ends import Named
from .endings import is_json_object
from .positions import ADDED, DONE
from .relayed_items import CALLS

Json = dict[str, Any]

CALL: Final = "function_call"
_DELTA: Final = f"{CALLS[CALL]}.delta"
_ARGUMENTS_DONE: Final = f"{CALLS[CALL]}.done"


@dataclass(eq=False, slots=True)
class _Bridged:
    """One call: its item for the client, and its complete arguments if the server has sent them."""

    item: OpenCall
    upstream_id: str
    arguments: str | None = None
    closed: bool = False


class BridgedCalls:
    """The bridged calls of one answer. Events must have their `output_index`, and items their ids."""

    def __init__(self, table: BridgeTable, new_call_id: Callable[[], str]) -> None:
        self._table = table
        self._new_call_id = new_call_id
        self._calls: dict[int, _Bridged] = {}
        """By their positions, those that are over included: nothing more of them is sent."""
        self._last: _Bridged | None = None
        """The call that began last, until it is announced."""
        self._done: dict[str, Json | None] = {}
        """The finished items by the ids that the upstream gave them; None for one that was cut and not sent."""

    def holds(self, event: Json) -> bool:
        """Whether this event is about a bridged call."""
        return event["output_index"] in self._calls

    def events(self, name: str, event: Json) -> list[Named]:
        """The events for one of the upstream."""
        item: Any = event.get("item")
        call = self._calls.get(event["output_index"])
        if call is not None:
            return self._grow(call, name, event)
        before = self._announce() if name == ADDED else []
        if name not in {ADDED, DONE} or not self._is_bridged(item):
            return [*before, (name, event)]
        call, begin = self._begin(item, event["output_index"])
        return [*before, *begin, *(self._end(call, item) if name == DONE else [])]

    def final(self, output: list[Any]) -> list[Any]:
        """The items of a response, with the client's items in place of the calls of functions that carry tools."""
        items = [self._finished(item) if self._is_bridged(item) else item for item in output]
        return [item for item in items if item is not None]

    def _is_bridged(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("type") == CALL and self._table.carries(str(item.get("name")))

    def _begin(self, item: Json, index: int) -> tuple[_Bridged, list[Named]]:
        call = self._opened(item, index)
        self._calls[index] = self._last = call
        return call, _named(call.item.open())

    def _opened(self, item: Json, index: int) -> _Bridged:
        name, call_id, upstream_id = item["name"], item.get("call_id"), str(item.get("id"))
        if not isinstance(call_id, str) or not call_id:
            call_id = self._new_call_id()
        item_id = f"{self._table.item_prefix(name)}_{upstream_id.partition('_')[2] or upstream_id}"
        position = ItemPosition(item_id, index, _no_number)
        return _Bridged(self._table.open_call(name, call_id, position), upstream_id)

    def _grow(self, call: _Bridged, name: str, event: Json) -> list[Named]:
        if call.closed:
            return []
        if name == _DELTA and isinstance(event.get("delta"), str):
            return _named(call.item.add(event["delta"]))
        if name == _ARGUMENTS_DONE:
            call.arguments = _text(event.get("arguments"))
        return self._end(call, event.get("item")) if name == DONE else []

    def _end(self, call: _Bridged, item: Any) -> list[Named]:
        """The end of a call, with what the deltas have left out of its arguments."""
        fields = item if isinstance(item, dict) else {}
        whole = _text(fields.get("arguments")) or call.arguments or ""
        rest = whole.removeprefix(call.item.written()) if whole.startswith(call.item.written()) else ""
        events = call.item.add(rest) if rest else []
        status: ItemStatus = "incomplete" if fields.get("status") == "incomplete" else "completed"
        closed = call.item.close(status)
        call.closed = True
        self._done[call.upstream_id] = None if closed.item is None else msgspec.to_builtins(closed.item)
        return _named([*events, *closed.events])

    def _announce(self) -> list[Named]:
        """The beginning of the last call, if it is still to be sent: clients count items as they begin."""
        call, self._last = self._last, None
        return [] if call is None else _named(call.item.announce())

    def _finished(self, item: Json) -> Json | None:
        """The client's item for a function call of a response."""
        if (upstream_id := str(item.get("id"))) in self._done:
            return self._done[upstream_id]
        call = self._opened(item, 0)  # the events have not brought its end
        arguments = _text(item.get("arguments"))
        call.item.add(arguments)
        cut = item.get("status") == "incomplete" or not is_json_object(arguments)
        closed = call.item.close("incomplete" if cut else "completed")
        return None if closed.item is None else msgspec.to_builtins(closed.item)


def _text(arguments: Any) -> str:
    """Complete arguments as text. Some servers send the object itself."""
    if isinstance(arguments, dict):
        return json_bytes(arguments).decode()
    return arguments if isinstance(arguments, str) else ""


def _named(events: list[Event]) -> list[Named]:
    """Events as the relay sends them. It numbers them itself."""
    built = [msgspec.to_builtins(event) for event in events]
    return [(event["type"], event) for event in built]


def _no_number() -> int:
    return 0
