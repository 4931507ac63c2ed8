"""Writes what an observer records of a turn: in order, long pieces in threads, and with a limit on what waits."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from ..off_loop import SHORT, off_loop

log = logging.getLogger("am_proxy")

MOST: Final = 16 * 1024 * 1024
"""Bytes of pieces that wait or are being written."""
MOST_OF_ONE: Final = MOST // 4
"""Of them, bytes of one owner."""
BUSY: Final = "; too much waits to be written"
"""Why a body is left out of what an observer writes."""
AT_THE_END: Final = 5
"""Seconds for writing what waits when the observer is closed."""


Made = TypeVar("Made")


class _Piece(NamedTuple):
    owner: str
    size: int
    make: Callable[[], Any]
    use: Callable[[Any], object]


def _nothing(_made: object) -> None:
    """Does nothing with what was made."""


class Backlog:
    """The pieces of all turns that one observer has not written yet."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._held: dict[str, int] = {}
        """By owner; only those above zero."""
        self.tasks: set[asyncio.Task[None]] = set()

    def take(self, owner: str, size: int) -> bool:
        """Takes room for `size` bytes; False if there is none. Without keys all callers are one owner."""
        held = self._held.get(owner, 0) + size
        if sum(self._held.values()) + size > self._most or (owner and held > self._most_of_one):
            return False
        self._held[owner] = held
        return True

    def give_back(self, owner: str, size: int) -> None:
        """Gives the room back after the piece is written."""
        if left := self._held.get(owner, 0) - size:
            self._held[owner] = left
        else:
            self._held.pop(owner, None)

    async def close(self) -> None:
        """Writes what still waits, for a few seconds at most."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=AT_THE_END)
        for task in self.tasks:
            task.cancel()


class InOrder:
    """The pieces of one turn. `fields` names its owner once that is known."""

    def __init__(self, backlog: Backlog, fields: Mapping[str, Any]) -> None:
        self._backlog = backlog
        self._fields = fields
        self._waiting: deque[_Piece] = deque()

    def write(self, size: int, make: Callable[[], Made], use: Callable[[Made], object] = _nothing) -> bool:
        """Calls `make`, in a thread where it takes long, and then, on the event loop, `use` with what was made.

        Both are called at once where `make` is short and nothing waits. `size`: bytes of its input. False if there is
        no room; then neither is called.
        """
        if not self._waiting and size <= SHORT:
            use(make())
            return True
        owner = str(self._fields.get("owner", ""))
        if not self._backlog.take(owner, size):
            return False
        self._waiting.append(_Piece(owner, size, make, use))
        if len(self._waiting) == 1:
            task = asyncio.get_running_loop().create_task(self._write_all())
            self._backlog.tasks.add(task)
            task.add_done_callback(self._backlog.tasks.discard)
        return True

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                piece = self._waiting[0]
                piece.use(await off_loop(piece.size, piece.make))
                self._waiting.popleft()
                self._backlog.give_back(piece.owner, piece.size)
        except Exception as error:
            log.error("an observer failed", exc_info=error, extra={"request_id": self._fields.get("request_id", "")})  # noqa: TRY400 — with what is known of the turn
        finally:
            for piece in self._waiting:
                self._backlog.give_back(piece.owner, piece.size)
            self._waiting.clear()
