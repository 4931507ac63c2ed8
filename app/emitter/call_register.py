"""The tool calls of one answer, by the key under which the reader opened each.

Some calls are sent only when they are whole, because the wire cannot let their items grow. They take their position
all the same, and what stays open is announced before anything else opens: clients count items as they are added.
"""

from collections.abc import Container
from typing import Final, NamedTuple, Protocol

from app.emitter.deltas import CallOpened
from app.emitter.open_items import ItemPosition, OpenCall
from app.emitter.whole_calls import WholeCalls
from app.protocol.events import Event
from app.protocol.ids import NewId

MOST_NAMES: Final = 20
"""Names of calls that are remembered of one answer."""
LONGEST_NAME: Final = 64
"""Characters of each."""


class ToolTable(Protocol):
    """What the emitter must know of tools: which may be called, and what a call of one looks like."""

    def allows(self, name: str) -> bool:
        """Whether the client permits this call in this turn."""
        ...

    def item_prefix(self, name: str) -> str:
        """The id prefix of such a call."""
        ...

    def open_call(self, name: str, call_id: str, position: ItemPosition) -> OpenCall:
        """The open item for such a call."""
        ...


class RuledOut:
    """A call that the client does not allow: its arguments and its provider state are dropped."""


class AllowedCall(NamedTuple):
    """A call that the client allows, open or finished."""

    item: OpenCall
    id: str


_RULED_OUT: Final = RuledOut()


class CallRegister:
    """Which call a delta is about, whether it is still open, and which of the open ones are whole."""

    def __init__(self, tools: ToolTable, new_id: NewId) -> None:
        self.ruled_out: list[str] = []
        """Names of the first calls that the client does not allow."""
        self._tools = tools
        self._new_id = new_id
        self._by_key: dict[int, AllowedCall | RuledOut] = {}
        self._ids: set[str] = set()
        self._unannounced: OpenCall | None = None
        """The call that was opened last, until it is announced."""
        self._whole = WholeCalls()

    def allows(self, delta: CallOpened) -> bool:
        """Whether the client permits this call. One that it does not permit is remembered for the log."""
        if self._tools.allows(delta.name):
            return True
        if len(self.ruled_out) < MOST_NAMES:
            self.ruled_out.append(delta.name[:LONGEST_NAME])
        self._by_key[delta.key] = _RULED_OUT
        return False

    def new_call_id(self, delta: CallOpened) -> str:
        """The upstream's id for this call; our own where it gave none, or one that another call has."""
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
        self._whole.add(call, arguments)
        return call.add(arguments)

    def whole(self, positions: Container[int]) -> list[int]:
        """Those of these positions whose calls have become whole since they were last looked at, in order."""
        return self._whole.found(positions)

    def announce(self, positions: Container[int]) -> list[Event]:
        """Announces the call that was opened last, if it is at one of these positions and was not announced."""
        call, self._unannounced = self._unannounced, None
        return call.announce() if call is not None and call.position.output_index in positions else []
