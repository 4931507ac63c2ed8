"""JSON that is kept in parts: what many turns have in common, such as their history, is in memory once.

Theory of operation
-------------------
Each request of a conversation repeats all that was said before, and each response repeats instructions and tools. So
the long members of an object are parts of their own, and of a conversation each item is one. A part is known by the
hash of its JSON; one that is known already is neither kept a second time nor searched for secrets again. The parts of
each owner are apart from those of others.

Parts are made in threads, where they may be long, and counted on the event loop. A part that is forgotten in between
simply comes back.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import msgspec

from ..json_text import json_bytes, json_value
from .item_digest import item_digest
from .redaction import redacted_json

OVERHEAD: Final = 256
"""Bytes that a part takes in addition to its JSON."""
LEAST: Final = 1024
"""Bytes from which a member is a part of its own."""
LISTS: Final = frozenset({"contents", "entries", "input", "messages", "output", "system"})
"""Members whose entries are parts, one by one."""
OBJECTS: Final = frozenset({"ask", "prompt", "request", "response"})
"""Members that consist of members themselves."""
DIGEST: Final = 16


class SharedPart:
    """A part, without secrets, and how many documents have it."""

    __slots__ = ("data", "digest", "item", "users")

    def __init__(self, digest: bytes, data: bytes, item: bytes | None) -> None:
        self.digest = digest
        self.data = data
        self.item = item
        """The `item_digest` of an item of a conversation; None for other parts."""
        self.users = 0

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.data) + OVERHEAD


Piece: TypeAlias = bytes | SharedPart


class SharedParts:
    """The parts of one owner."""

    def __init__(self) -> None:
        self._parts: dict[bytes, SharedPart] = {}

    def made(self, key: str, raw: bytes, item: Any = None) -> SharedPart:
        """The part with this JSON, which is the value of a member `key`. It is not kept yet. May run in a thread."""
        digest = blake2b(raw, digest_size=DIGEST, key=key.encode()[:64]).digest()
        known = self._parts.get(digest)
        if known is not None:
            return known
        return SharedPart(digest, redacted_json(raw, key), None if item is None else item_digest(item))

    def hold(self, part: SharedPart) -> tuple[SharedPart, int]:
        """The part that is kept, and the bytes that this takes."""
        kept = self._parts.setdefault(part.digest, part)
        kept.users += 1
        return kept, kept.size if kept.users == 1 else 0

    def release(self, part: SharedPart) -> int:
        """One document less has the part. The bytes that are free now."""
        part.users -= 1
        if part.users:
            return 0
        del self._parts[part.digest]
        return part.size


def pieces_of(value: Mapping[str, Any], parts: SharedParts) -> list[Piece]:
    """The JSON of an object, in pieces that follow each other. Secrets are removed."""
    pieces: list[Piece] = []
    before = b"{"
    for key, entry in value.items():
        pieces.append(before + redacted_json(json_bytes(str(key))) + b":")
        before = b","
        if key in LISTS and isinstance(entry, list | tuple):
            pieces += _listed(key, entry, parts)
        elif key in OBJECTS and isinstance(entry, dict):
            pieces += pieces_of(entry, parts)
        else:
            pieces.append(_member(str(key), json_bytes(entry), parts))
    pieces.append(b"}" if value else b"{}")
    return joined(pieces)


def pieces_of_json(raw: bytes, parts: SharedParts) -> list[Piece]:
    """The same for JSON, of which only the long members are looked at."""
    if len(raw) < LEAST:
        return [redacted_json(raw)]
    try:
        return joined(_raw_pieces(raw, parts))
    except msgspec.DecodeError:
        return [redacted_json(raw)]


def data_of(pieces: Iterable[Piece]) -> bytes:
    """The JSON."""
    return b"".join([piece if isinstance(piece, bytes) else piece.data for piece in pieces])


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The same with adjacent bytes in one piece."""
    found: list[Piece] = []
    begun: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            begun.append(piece)
            continue
        if begun:
            found.append(b"".join(begun))
            begun = []
        found.append(piece)
    if begun:
        found.append(b"".join(begun))
    return found


def _raw_pieces(raw: bytes, parts: SharedParts) -> list[Piece]:
    members: dict[str, msgspec.Raw] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    pieces: list[Piece] = []
    before = b"{"
    for key, entry in members.items():
        value = bytes(entry)
        pieces.append(before + redacted_json(json_bytes(key)) + b":")
        before = b","
        if key in OBJECTS and value[:1] == b"{" and len(value) >= LEAST:
            pieces += _raw_pieces(value, parts)
        elif key in LISTS and value[:1] == b"[" and len(value) >= LEAST:
            pieces += _listed(key, json_value(value), parts)
        else:
            pieces.append(_member(key, value, parts))
    pieces.append(b"}" if members else b"{}")
    return pieces


def _listed(key: str, entries: Sequence[Any], parts: SharedParts) -> list[Piece]:
    pieces: list[Piece] = []
    before = b"["
    for entry in entries:
        pieces += [before, parts.made(key, json_bytes(entry), entry if key in {"input", "output"} else None)]
        before = b","
    pieces.append(b"]" if entries else b"[]")
    return pieces


def _member(key: str, raw: bytes, parts: SharedParts) -> Piece:
    return redacted_json(raw, key) if len(raw) < LEAST else parts.made(key, raw)
