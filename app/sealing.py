"""Encrypts content that clients carry and only this server can read.

    "AM2." base64url( id of the key (4) | nonce (12) | AES-256-GCM( how | time and content ) with its tag (16) )

The first byte of the plain text is its packing: 0 is uncompressed, 1 compressed. If the compressed text is shorter than
an eighth of the memory that its content needs, it is padded to that length, so that opening the envelopes of a request
takes time and memory in proportion to the request. The version, the kind, the key's id and the scope (one owner, or all
that share) are authenticated with the text, so that an envelope opens only for its kind and its owner. An envelope has
exactly one spelling, so that a changed bit is noticed at any position.

Envelopes that begin with "AM1." have no scope. They open only if seals are shared.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from hmac import digest
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .protocol.problems import ProblemError, refuse
from .protocol.seals import ENVELOPES, FORMER, VERSION, Kind

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MOST_OPENED: Final = 32 * 1024 * 1024
"""The default of the bytes that all envelopes of one request may hold."""

_KEY_ID: Final = 4
_NONCE: Final = 12
_TAG: Final = 16
_PLAIN: Final = b"\x00"
_COMPRESSED: Final = b"\x01"
_WORTH_COMPRESSING: Final = 64
"""Bytes below which compression makes the text longer."""
_LONG: Final = 256 * 1024
"""Bytes from which samples are compressed before the whole text is."""
_SAMPLES: Final = 16
_SAMPLE: Final = 1024
_DENSE: Final = 0.6
"""The ratio of compressed samples above which compression is not worth its time. For base64 it is 0.75."""
_DENSEST: Final = 8
"""Bytes of memory that one byte of compressed text may need. Prose and code compress to a third."""
_COSTS: Final = {b'{"': 192, b"{}": 64, b"[": 64, b',"': 48, b",": 16}
"""Bytes of memory that a decoded value needs in addition to its text, by its first characters. Quotes within a string
are escaped, and do not match."""
_SHARED: Final = b"shared"
_SKEW: Final = 300
"""Seconds by which another replica's clock may be ahead."""


class _Sealed(msgspec.Struct, array_like=True, frozen=True):
    """The content of an envelope, and the time of sealing in seconds."""

    at: int
    content: dict[str, Any]


class EnvelopeSealer:
    """Seals with the first key and opens with any key, so that keys can be rotated and shared by replicas.

    `chance` returns random bytes, `now` seconds. Envelopes older than `max_age` seconds do not open; without it all do.
    All envelopes of one request may hold `most_opened` bytes. `shared`: callers can open each other's envelopes.
    Raises an error without a key.
    """

    def __init__(
        self,
        keys: Sequence[str],
        *,
        chance: Callable[[int], bytes],
        now: Callable[[], float],
        max_age: float | None = None,
        most_opened: int = MOST_OPENED,
        shared: bool = False,
    ) -> None:
        if not keys:
            raise ValueError("there is no key to seal with")
        self._keys = {_derived(key, "id")[:_KEY_ID]: _derived(key, "cipher") for key in reversed(keys)}
        self._first = _derived(keys[0], "id")[:_KEY_ID]
        self._chance = chance
        self._now = now
        self._max_age = max_age
        self._most_opened = most_opened
        self._shared = shared

    @cached_property
    def _ciphers(self) -> "dict[bytes, AESGCM]":
        """A cipher for each key. Its library takes 7 MB and 10 ms, and many servers never seal anything."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 — as above

        return {key_id: AESGCM(key) for key_id, key in self._keys.items()}

    def for_owner(self, owner: str, *, alone: bool = False) -> "RequestSealer":
        """A sealer that has opened nothing, for this owner. An owner that is `alone` shares its seals with no other."""
        own = b"owner " + owner.encode("utf-8", "surrogatepass")
        scopes = (_SHARED, own) if self._shared and not alone else (own,)
        return RequestSealer(self, scopes, self._most_opened)

    def encrypted(self, kind: Kind, content: dict[str, Any], scope: bytes) -> str:
        """An envelope with this content."""
        plain = msgspec.json.encode(_Sealed(int(self._now()), content))
        nonce = self._chance(_NONCE)
        closed = self._ciphers[self._first].encrypt(nonce, _packed(plain), _associated(kind, self._first, scope))
        return VERSION + urlsafe_b64encode(self._first + nonce + closed).rstrip(b"=").decode()

    def decrypted(self, kind: Kind, envelope: str, scopes: Sequence[bytes]) -> bytes | None:
        """The packed text of an envelope of one of these scopes; None, without the reason, if it does not open."""
        version, raw = _parsed(envelope)
        if len(raw) <= _KEY_ID + _NONCE + _TAG:
            return None
        key_id, nonce, closed = raw[:_KEY_ID], raw[_KEY_ID : _KEY_ID + _NONCE], raw[_KEY_ID + _NONCE :]
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            return None
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 — loaded with the cipher

        if version == FORMER:
            scopes = [b""] if _SHARED in scopes else []
        for scope in scopes:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, closed, _associated(kind, key_id, scope))
        return None

    def content_of(self, plain: bytes) -> dict[str, Any] | None:
        """The content of an unpacked text; None if it is too old."""
        sealed = msgspec.json.decode(plain, type=_Sealed)
        age = self._now() - sealed.at
        return sealed.content if self._max_age is None or -_SKEW <= age <= self._max_age else None


@dataclass(eq=False)
class RequestSealer:
    """Seals for the first of its scopes, opens envelopes of any of them, and counts the opened bytes."""

    sealer: EnvelopeSealer
    scopes: Sequence[bytes]
    most_opened: int

    def __post_init__(self) -> None:
        self._left = self.most_opened
        """Bytes that may still be opened; each value counts for its memory."""

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope with this content."""
        return self.sealer.encrypted(kind, content, self.scopes[0])

    def open(self, kind: Kind, envelope: str, path: str) -> dict[str, Any] | None:
        """The content, or None. Raises `ProblemError` if the envelopes of this request hold too much."""
        packed = self.sealer.decrypted(kind, envelope, self.scopes)
        if packed is None:
            return None
        # this server wrote the text, but the client chose its content and sends it as often as it likes
        plain = _unpacked(packed, self._left)
        if plain is None or (cost := _cost(plain)) > self._left:
            raise self._too_much(path)
        self._left -= cost
        return self.sealer.content_of(plain)

    def fresh(self) -> "RequestSealer":
        """The same sealer with its whole budget."""
        return RequestSealer(self.sealer, self.scopes, self.most_opened)

    def _too_much(self, path: str) -> ProblemError:
        message = (
            f"'{path}' cannot be decrypted: the encrypted items of a request may contain {self.most_opened} bytes "
            "in total, and these contain more. Send fewer of them."
        )
        return refuse("invalid_value", message, path)


def _packed(plain: bytes) -> bytes:
    short = _compressed(plain) if len(plain) > _WORTH_COMPRESSING else plain
    if len(short) >= len(plain):
        return _PLAIN + plain
    return _COMPRESSED + short.ljust(_cost(plain) // _DENSEST, b"\0")


def _compressed(plain: bytes) -> bytes:
    """Text in which samples do not repeat (an image in base64) is only Huffman-coded: a full search takes a second."""
    strategy = zlib.Z_DEFAULT_STRATEGY
    if len(plain) > _LONG:
        step = len(plain) // _SAMPLES
        sample = b"".join([plain[at : at + _SAMPLE] for at in range(0, len(plain), step)])
        if len(zlib.compress(sample)) > _DENSE * len(sample):
            strategy = zlib.Z_HUFFMAN_ONLY
    compressing = zlib.compressobj(strategy=strategy)
    return compressing.compress(plain) + compressing.flush()


def _unpacked(packed: bytes, most: int) -> bytes | None:
    """The plain text; None if it is longer than `most` bytes. At most one byte more is decompressed."""
    if packed[:1] != _COMPRESSED:
        return packed[1:] if len(packed) - 1 <= most else None
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(packed[1:], most + 1)
    return plain if unpacking.eof and len(plain) <= most else None


def _cost(plain: bytes) -> int:
    """The memory that this text needs, encoded and decoded."""
    return len(plain) + sum(cost * plain.count(begin) for begin, cost in _COSTS.items())


def _derived(key: str, purpose: str) -> bytes:
    """32 bytes derived from a key of any length, different for each purpose."""
    return digest(sha256(key.encode()).digest(), b"am-proxy seal " + purpose.encode(), "sha256")


def _associated(kind: Kind, key_id: bytes, scope: bytes) -> bytes:
    """The associated data of an envelope. Without a scope it is that of the former version."""
    if not scope:
        return b"|".join((FORMER.encode(), kind.encode(), key_id))
    return b"|".join((VERSION.encode(), kind.encode(), key_id, scope))


def _parsed(envelope: str) -> tuple[str, bytes]:
    """The version of an envelope and its bytes; no bytes if it is not spelled as we would spell it."""
    version, body = envelope[: len(VERSION)], envelope[len(VERSION) :]
    if version not in ENVELOPES or not envelope.isascii():
        return version, b""
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return version, b""
    return version, raw if urlsafe_b64encode(raw).rstrip(b"=").decode() == body else b""
