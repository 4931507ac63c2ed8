"""The record of the last turns, by reference to bytes that exist anyway: nothing is encoded, hashed or copied."""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ..settings.tables import Caller

if TYPE_CHECKING:
    from ..turns.turn import Turn

_MOST_BYTES = 128 * 1024 * 1024
_OBJECT = 100
"""Bytes that a list counts for each of its pieces: they are objects, however short."""


class Kept(NamedTuple):
    """What is kept of a turn that has ended: nothing else of it lives on."""

    request_id: str
    key: str
    upstream: str
    finish: str
    took: float
    body: bytes
    """As it was posted."""
    got: list[bytes]
    """What the upstream sent."""
    sent: list[bytes]
    """What the client got."""
    size: int


class Record:
    """The last turns, as many as fit."""

    def __init__(self, turns: int) -> None:
        self._most = turns
        self._kept: deque[Kept] = deque()
        self._size = 0

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return self._most > 0

    def add(self, turn: "Turn", caller: Caller, body: bytes, took: float) -> None:
        """Keeps a turn, and forgets the oldest ones that have no room beside it."""
        if not self._most:
            return
        got, sent = turn.pieces or [], turn.sent or []
        size = len(body) + sum(map(len, got)) + sum(map(len, sent)) + _OBJECT * (len(got) + len(sent))
        name = caller.name
        self._kept.append(Kept(turn.request_id, name, turn.route.name, turn.finish, took, body, got, sent, size))
        self._size += size
        while len(self._kept) > self._most or (self._size > _MOST_BYTES and len(self._kept) > 1):
            self._size -= self._kept.popleft().size
