"""The envelope in which a client carries what only this server may read. Needs the package `cryptography`.

    "AM2." base64url( id of the key (4) | nonce (12) | AES-256-GCM( how | time and content ) with its tag (16) )

The first byte of the sealed text says how it is packed: 0 as it is, 1 compressed. What is compressed to less than an
eighth of what it costs to hold is padded to that: an envelope never holds much more than its length says, and opening
those of a request takes time and memory in proportion to the request. The beginning, the kind, the key's id and
the scope (one owner, or all that share) are authenticated with it, so that an envelope opens only as what it was sealed
as, and for whom. The text of an envelope has one spelling: a bit flipped anywhere in it is noticed.

Envelopes that begin with "AM1." name no scope. They open where seals are shared.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from hmac import digest
from typing import Any, Final

import msgspec

from app.protocol.problems import ProblemError, refuse
from app.protocol.seals import ENVELOPES, FORMER, VERSION, Kind

MOST_OPENED: Final = 32 * 1024 * 1024
"""Bytes that the envelopes of one request may hold in all, where nothing else is said."""

_KEY_ID: Final = 4
_NONCE: Final = 12
_TAG: Final = 16
_PLAIN: Final = b"\x00"
_COMPRESSED: Final = b"\x01"
_WORTH_COMPRESSING: Final = 64
"""Bytes below which compressing makes longer."""
_LONG: Final = 256 * 1024
"""Bytes from which samples are looked at before all of it is compressed."""
_SAMPLES: Final = 16
_SAMPLE: Final = 1024
_DENSE: Final = 0.6
"""What of the samples is left by compression where it is not worth its time. Of base64 it is three quarters."""
_DENSEST: Final = 8
"""How many bytes of memory one byte of compressed text may stand for. Prose and code compress to a third."""
_COSTS: Final = {b'{"': 192, b"{}": 64, b"[": 64, b',"': 48, b",": 16}
"""Bytes that values count for beside their text, by how they begin: so much memory they take when they are read. Quotes
within a string are escaped, and are not among these."""
_SHARED: Final = b"shared"
_SKEW: Final = 300
"""Seconds by which another replica's clock may run ahead."""


class SealingUnavailableError(RuntimeError):
    """Sealing was asked for, and its package is not installed. Nothing is ever carried as plain text instead."""

    def __init__(self) -> None:
        super().__init__(
            "sealing what clients carry needs the package cryptography: "
            'pip install cryptography, or set when = "never" under [seal]'
        )


class _Sealed(msgspec.Struct, array_like=True, frozen=True):
    """What is inside: when it was sealed, in seconds, and what."""

    at: int
    content: dict[str, Any]


class EnvelopeSealer:
    """Seals with the first key, opens with any: so keys are rotated, and replicas that share them read each other.

    `chance` gives random bytes, `now` seconds. Envelopes older than `max_age` seconds do not open; without it all do.
    What the envelopes of one request hold may be `most_opened` bytes in all. `shared`: callers open each other's.
    Refuses to be made without a key, or without `cryptography`.
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
        try:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 — an optional package
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 — as above
        except ImportError:
            raise SealingUnavailableError from None
        if not keys:
            raise ValueError("there is no key to seal with")
        self._ciphers = {_derived(key, "id")[:_KEY_ID]: AESGCM(_derived(key, "cipher")) for key in reversed(keys)}
        self._first = _derived(keys[0], "id")[:_KEY_ID]
        self._invalid = InvalidTag
        self._chance = chance
        self._now = now
        self._max_age = max_age
        self._most_opened = most_opened
        self._shared = shared

    def for_owner(self, owner: str, *, alone: bool = False) -> "RequestSealer":
        """A sealer that has opened nothing, for this owner. An owner that is `alone` shares its seals with no other."""
        own = b"owner " + owner.encode("utf-8", "surrogatepass")
        scopes = (_SHARED, own) if self._shared and not alone else (own,)
        return RequestSealer(self, scopes, self._most_opened)

    def encrypted(self, kind: Kind, content: dict[str, Any], scope: bytes) -> str:
        """An envelope. Its length tells how much it holds, and nothing else."""
        plain = msgspec.json.encode(_Sealed(int(self._now()), content))
        nonce = self._chance(_NONCE)
        closed = self._ciphers[self._first].encrypt(nonce, _packed(plain), _bound(kind, self._first, scope))
        return VERSION + urlsafe_b64encode(self._first + nonce + closed).rstrip(b"=").decode()

    def decrypted(self, kind: Kind, envelope: str, scopes: Sequence[bytes]) -> bytes | None:
        """The packed text of an envelope of one of these scopes, or None: why, an attacker must not know."""
        version, raw = _spelled(envelope)
        if len(raw) <= _KEY_ID + _NONCE + _TAG:
            return None
        key_id, nonce, closed = raw[:_KEY_ID], raw[_KEY_ID : _KEY_ID + _NONCE], raw[_KEY_ID + _NONCE :]
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            return None
        if version == FORMER:
            scopes = [b""] if _SHARED in scopes else []
        for scope in scopes:
            with suppress(self._invalid):
                return cipher.decrypt(nonce, closed, _bound(kind, key_id, scope))
        return None

    def content_of(self, plain: bytes) -> dict[str, Any] | None:
        """The content of a text that was unpacked. None if it is too old."""
        sealed = msgspec.json.decode(plain, type=_Sealed)
        age = self._now() - sealed.at
        return sealed.content if self._max_age is None or -_SKEW <= age <= self._max_age else None


class RequestSealer:
    """Seals in the first of its scopes, opens what was sealed in any. It counts what it opens."""

    def __init__(self, sealer: EnvelopeSealer, scopes: Sequence[bytes], most_opened: int) -> None:
        self._sealer = sealer
        self._scopes = scopes
        self._most_opened = most_opened
        self._left = most_opened
        """What may still be opened, in bytes; a value counts for some more than it is long."""

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope around this content."""
        return self._sealer.encrypted(kind, content, self._scopes[0])

    def open(self, kind: Kind, envelope: str, path: str) -> dict[str, Any] | None:
        """What is inside, or None. Raises `ProblemError` where the envelopes of this request hold too much."""
        packed = self._sealer.decrypted(kind, envelope, self._scopes)
        if packed is None:
            return None
        # from here on it is our own writing, but the client chose what was written, and how often it is sent
        plain = _unpacked(packed, self._left)
        if plain is None or (cost := _cost(plain)) > self._left:
            raise self._too_much(path)
        self._left -= cost
        return self._sealer.content_of(plain)

    def fresh(self) -> "RequestSealer":
        """The same sealer with nothing opened yet."""
        return RequestSealer(self._sealer, self._scopes, self._most_opened)

    def _too_much(self, path: str) -> ProblemError:
        message = (
            f"'{path}' cannot be opened: what is sealed in the items of a request may hold {self._most_opened} bytes "
            "in all when it is opened, and this is more. Send fewer sealed items."
        )
        return refuse("invalid_value", message, path)


def _packed(plain: bytes) -> bytes:
    short = _compressed(plain) if len(plain) > _WORTH_COMPRESSING else plain
    if len(short) >= len(plain):
        return _PLAIN + plain
    return _COMPRESSED + short.ljust(_cost(plain) // _DENSEST, b"\0")


def _compressed(plain: bytes) -> bytes:
    """A picture in base64 repeats nothing, and looking takes a second for 32 MiB: only letters are coded."""
    strategy = zlib.Z_DEFAULT_STRATEGY
    if len(plain) > _LONG:
        step = len(plain) // _SAMPLES
        sample = b"".join([plain[at : at + _SAMPLE] for at in range(0, len(plain), step)])
        if len(zlib.compress(sample)) > _DENSE * len(sample):
            strategy = zlib.Z_HUFFMAN_ONLY
    compressing = zlib.compressobj(strategy=strategy)
    return compressing.compress(plain) + compressing.flush()


def _unpacked(packed: bytes, most: int) -> bytes | None:
    """The plain text. None if it is longer than `most` bytes, of which no more are made."""
    if packed[:1] != _COMPRESSED:
        return packed[1:] if len(packed) - 1 <= most else None
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(packed[1:], most + 1)
    return plain if unpacking.eof and len(plain) <= most else None


def _cost(plain: bytes) -> int:
    """What it costs to hold this text and to read it."""
    return len(plain) + sum(cost * plain.count(begin) for begin, cost in _COSTS.items())


def _derived(key: str, purpose: str) -> bytes:
    """32 bytes of a key of any length, others for each purpose."""
    return digest(sha256(key.encode()).digest(), b"am-proxy seal " + purpose.encode(), "sha256")


def _bound(kind: Kind, key_id: bytes, scope: bytes) -> bytes:
    """What is authenticated beside the text. Without a scope it is of the former version."""
    if not scope:
        return b"|".join((FORMER.encode(), kind.encode(), key_id))
    return b"|".join((VERSION.encode(), kind.encode(), key_id, scope))


def _spelled(envelope: str) -> tuple[str, bytes]:
    """How an envelope begins and its bytes, of which there are none unless this is how we would have spelled them."""
    version, body = envelope[: len(VERSION)], envelope[len(VERSION) :]
    if version not in ENVELOPES or not envelope.isascii():
        return version, b""
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return version, b""
    return version, raw if urlsafe_b64encode(raw).rstrip(b"=").decode() == body else b""
