"""A short record of a prompt, with which a later one is compared. It holds hashes, none of the text.

A prompt may be many megabytes long, and many are remembered. So of each part only a hash is kept, and for each 64 bytes
in it a check of four bytes: a change is found to 64 bytes (to 4096 bytes from the 65,536th byte of a part on).
"""

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple
from zlib import crc32

from ..json_text import json_bytes
from .prefix import Part, Prefix

DIGEST: Final = 8
"""Bytes of a hash."""
FINE: Final = 64
COARSE: Final = 4096
_FINE_UP_TO: Final = 65_536


class Fingerprint(NamedTuple):
    """The record of one prompt."""

    model: tuple[str, str]
    """The upstream and its name of the model."""
    settings: dict[str, bytes]
    """The hash of each setting."""
    tools: int
    """How many parts are tools."""
    system: int
    """How many of the parts after them are the system prompt."""
    digests: bytes
    """The hash of each part."""
    ends: "array[int]"
    """Where each part ends, in bytes from the beginning of the prompt."""
    checks: "array[int]"
    """The checks of all parts."""
    summaries: int
    """How many summaries of earlier conversation the request held."""

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.ends)

    @property
    def length(self) -> int:
        """Bytes of the prompt."""
        return self.ends[-1] if self.ends else 0

    @property
    def size(self) -> int:
        """Bytes of this record, about."""
        return 512 + len(self.digests) + 8 * len(self.ends) + 4 * len(self.checks)

    def start(self, part: int) -> int:
        """Where a part begins."""
        return self.ends[part - 1] if part else 0

    def digest(self, part: int) -> bytes:
        """The hash of a part."""
        return self.digests[part * DIGEST : (part + 1) * DIGEST]

    def checks_of(self, part: int) -> "array[int]":
        """The checks of a part."""
        sizes = [self.ends[index] - self.start(index) for index in range(part + 1)]
        first = sum(map(checks_in, sizes[:part]))
        return self.checks[first : first + checks_in(sizes[part])]


def fingerprint(prefix: Prefix, *, upstream: str, model: str, summaries: int = 0) -> Fingerprint:
    """The record of this prompt."""
    digests, ends, checks = bytearray(), array("Q"), array("I")
    end = 0
    for part in (*prefix.tools, *prefix.system, *prefix.messages):
        data = bytes_of(part)
        digests += _digest(data)
        end += len(data)
        ends.append(end)
        checks.extend(_checks(data))
    settings = {setting.name: _digest(json_bytes(setting.value)) for setting in prefix.settings}
    return Fingerprint(
        (upstream, model), settings, len(prefix.tools), len(prefix.system), bytes(digests), ends, checks, summaries
    )


def checks_in(size: int) -> int:
    """How many checks a part of this size has."""
    return -(-min(size, _FINE_UP_TO) // FINE) + -(-max(size - _FINE_UP_TO, 0) // COARSE)


def offset_of(check: int) -> int:
    """Where the bytes of this check begin in their part."""
    fine = _FINE_UP_TO // FINE
    return check * FINE if check <= fine else _FINE_UP_TO + (check - fine) * COARSE


def _checks(data: bytes) -> Iterator[int]:
    view = memoryview(data)
    for start in range(0, min(len(data), _FINE_UP_TO), FINE):
        yield crc32(view[start : min(start + FINE, _FINE_UP_TO)])
    for start in range(_FINE_UP_TO, len(data), COARSE):
        yield crc32(view[start : start + COARSE])


def bytes_of(part: Part) -> bytes:
    """The JSON that is compared."""
    return b"".join(map(json_bytes, part.values))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST).digest()
