"""What is kept of a turn, in the order in which it happened, and how it is shown: as JSON without secrets."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from ..json_text import json_bytes
from .redaction import redacted_json
from .shared_parts import Piece, SharedPart, SharedParts, data_of

EACH_NOTE: Final = 200
"""Bytes counted for a note in addition to its JSON."""
EACH_EVENT: Final = 48
"""The same for an event, and for a piece."""


class KeptMessage:
    """A note in pieces, which have no secrets."""

    __slots__ = ("name", "parts_of_request", "pieces")

    def __init__(self, name: str, pieces: Sequence[Piece], parts_of_request: int = 0) -> None:
        self.name = name
        self.pieces = pieces
        self.parts_of_request = parts_of_request
        """How many of its shared parts are of the client's request: the first ones."""

    @property
    def own_size(self) -> int:
        """Bytes that it takes, without the shared parts."""
        return EACH_NOTE + sum(EACH_EVENT + len(each) for each in self.pieces if isinstance(each, bytes))

    def hold(self, parts: SharedParts) -> int:
        """Keeps its parts, each in the form in which it is kept already. The bytes that this takes."""
        self.pieces, size = _held(self.pieces, parts)
        return size

    def release(self, parts: SharedParts) -> int:
        """Gives its parts up. The bytes that are free now."""
        return _released(self.pieces, parts)

    def shown(self, head: bytes) -> bytes:
        """Its JSON, which begins with `head`."""
        return head + data_of(self.pieces)[1:]

    def with_request(self, items_from: int) -> bytes:
        """Its JSON with nothing of shared parts but those of the request; of its items only the ones from this on.

        A zero stands in place of each of the others.
        """
        parts = items = 0
        written: list[bytes] = []
        for piece in self.pieces:
            if isinstance(piece, bytes):
                written.append(piece)
                continue
            is_item = piece.item is not None
            is_wanted = parts < self.parts_of_request and (not is_item or items >= items_from)
            written.append(piece.data if is_wanted else b"0")
            parts, items = parts + 1, items + is_item
        return b"".join(written)


class Batch:
    """Events that were sent together, `at` milliseconds after the turn began. Short ones are searched when shown."""

    __slots__ = ("at", "events")
    name = "sent"

    def __init__(self, at: float, events: list[bytes | list[Piece]]) -> None:
        self.at = at
        self.events = events

    @property
    def own_size(self) -> int:
        """Bytes that it takes, without the shared parts."""
        size = EACH_NOTE
        for event in self.events:
            if isinstance(event, bytes):
                size += EACH_EVENT + len(event)
            else:
                size += EACH_EVENT + sum(EACH_EVENT + len(each) for each in event if isinstance(each, bytes))
        return size

    def hold(self, parts: SharedParts) -> int:
        """Keeps its parts. The bytes that this takes."""
        added = 0
        for index, event in enumerate(self.events):
            if not isinstance(event, bytes):
                self.events[index], size = _held(event, parts)
                added += size
        return added

    def release(self, parts: SharedParts) -> int:
        """Gives its parts up. The bytes that are free now."""
        return sum(_released(event, parts) for event in self.events if not isinstance(event, bytes))

    def shown_events(self) -> list[bytes]:
        """The JSON of each event, without secrets."""
        return [redacted_json(event) if isinstance(event, bytes) else data_of(event) for event in self.events]

    def shown(self, head: bytes) -> bytes:
        """Its JSON, which begins with `head`."""
        return b'%b"at":%b,"events":[%b]}' % (head, json_bytes(self.at), b",".join(self.shown_events()))


Kept: TypeAlias = KeptMessage | Batch


def _held(pieces: Sequence[Piece], parts: SharedParts) -> tuple[list[Piece], int]:
    kept: list[Piece] = []
    added = 0
    for piece in pieces:
        if isinstance(piece, bytes):
            kept.append(piece)
        else:
            part, size = parts.hold(piece)
            kept.append(part)
            added += EACH_EVENT + size
    return kept, added


def _released(pieces: Sequence[Piece], parts: SharedParts) -> int:
    return sum(EACH_EVENT + parts.release(each) for each in pieces if isinstance(each, SharedPart))
