"""The tool calls of one answer, by the keys under which the reader opened them.

Some calls are sent only when they are complete, because the wire format has no deltas for their items. They take their
position at once, and are announced before another item opens: clients count items as they are added.
"""

from collections.abc import Container, Iterable
from typing import Final, NamedTuple, Protocol

from ..protocol.events import Event
from ..protocol.ids import NewId
from ..protocol.warnings import ClientWarning
from .deltas import CallOpened
from .open_items import ItemPosition, OpenCall
from .whole_calls import WholeCalls

MOST_NAMES: Final = 20
"""Names of calls that are remembered of one answer."""
LONGEST_NAME: Final = 64
"""Characters of each."""


class ToolTable(Protocol):
    """What the emitter needs of the tools: which may be called, and the open item of a call."""

    def allows(self, name: str) -> bool:
        """Whether the client allows a call of this tool in this turn."""
        ...

    def item_prefix(self, name: str) -> str:
        """The id prefix of a call of this tool."""
        ...

    def open_call(self, name: str, call_id: str, position: ItemPosition) -> OpenCall:
        """The open item for a call of this tool."""
        ...


class RuledOut:
    """A call that the client does not allow: its arguments and its provider state are dropped."""


class AllowedCall(NamedTuple):
    """A call that the client allows, open or finished."""

    item: OpenCall
    id: str


_RULED_OUT: Final = RuledOut()


def tool_choice_warnings(ruled_out: Iterable[str], *, lacks_call: bool) -> list[ClientWarning]:
    """Warnings about calls that were left out, and about a demanded call that the model did not make."""
    warnings: list[ClientWarning] = []
    if names := ", ".join(ruled_out):
        details = f"Calls that 'tool_choice' does not allow were left out: {names}."
        warnings.append(ClientWarning("tool_choice", "calls ruled out", details))
    if lacks_call:
        details = "'tool_choice' demands a tool call, and the model made none that it allows."
        warnings.append(ClientWarning("tool_choice", "demanded call", details))
    return warnings


class CallRegister:
    """Finds the call of a delta, and the open calls that are complete."""

    def __init__(self, tools: ToolTable, new_id: NewId) -> None:
        self.ruled_out: list[str] = []
        """Names of the first calls that the client does not allow."""
        self._tools = tools
        self._new_id = new_id
        self._by_key: dict[int, AllowedCall | RuledOut] = {}
        self._ids: set[str] = set()
        self._unannounced: OpenCall | None = None
        """The call that was opened last, until it is announced."""
        self._whole_calls = WholeCalls()

    def allows(self, delta: CallOpened) -> bool:
        """Whether the client allows this call. The name of a call that it does not allow is kept for the log."""
        if self._tools.allows(delta.name):
            return True
        if len(self.ruled_out) < MOST_NAMES:
            self.ruled_out.append(delta.name[:LONGEST_NAME])
        self._by_key[delta.key] = _RULED_OUT
        return False

    def new_call_id(self, delta: CallOpened) -> str:
        """The upstream's id for this call; a new id if it gave none, or one that another call has."""
        call_id = delta.call_id
        if not call_id or call_id in self._ids:
            call_id = self._new_id("call")
        self._ids.add(call_id)
        return call_id

    def item_prefix(self, delta: CallOpened) -> str:
        """The prefix of this call's item id."""
        return self._tools.item_prefix(delta.name)

    def open(self, delta: CallOpened, call_id: str, position: ItemPosition) -> OpenCall:
        """The new open item."""
        item = self._tools.open_call(delta.name, call_id, position)
        self._by_key[delta.key] = AllowedCall(item, call_id)
        self._unannounced = item
        return item

    def find(self, key: int) -> AllowedCall | RuledOut | None:
        """The call that was opened under this key; None if there is none."""
        return self._by_key.get(key)

    def add(self, call: OpenCall, arguments: str) -> list[Event]:
        """More arguments of an open call."""
        self._whole_calls.add(call, arguments)
        return call.add(arguments)

    def whole(self, positions: Container[int]) -> list[int]:
        """The calls at these positions that have become complete since the last time, in order."""
        return self._whole_calls.take(positions)

    def announce(self, positions: Container[int]) -> list[Event]:
        """Announces the call that was opened last, if it is at one of these positions and was not announced."""
        call, self._unannounced = self._unannounced, None
        return call.announce() if call is not None and call.position.output_index in positions else []
