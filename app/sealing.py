"""The envelope in which a client carries what only this server may read. Needs the package `cryptography`.

    "AM1." base64url( id of the key (4) | nonce (12) | AES-256-GCM( how | time and content ) with its tag (16) )

The first byte of the sealed text says how it is packed: 0 as it is, 1 compressed. The beginning, the kind and the
key's id are authenticated with it, so that an envelope opens only as what it was sealed as. The text of an envelope has
one spelling: a bit flipped anywhere in it is noticed.
"""

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from hmac import digest
from typing import Any, Final

import msgspec

from app.protocol.seals import Kind

VERSION: Final = "AM1."
"""How every envelope begins. What changes its form changes this."""

_KEY_ID: Final = 4
_NONCE: Final = 12
_TAG: Final = 16
_PLAIN: Final = b"\x00"
_COMPRESSED: Final = b"\x01"
_WORTH_COMPRESSING: Final = 64
"""Bytes below which compressing makes longer."""
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
    Refuses to be made without a key, or without `cryptography`.
    """

    def __init__(
        self,
        keys: Sequence[str],
        *,
        chance: Callable[[int], bytes],
        now: Callable[[], float],
        max_age: float | None = None,
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

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """An envelope. Its length tells how much it holds, and nothing else."""
        plain = msgspec.json.encode(_Sealed(int(self._now()), content))
        packed = zlib.compress(plain) if len(plain) > _WORTH_COMPRESSING else plain
        text = _COMPRESSED + packed if len(packed) < len(plain) else _PLAIN + plain
        nonce = self._chance(_NONCE)
        closed = self._ciphers[self._first].encrypt(nonce, text, _bound(kind, self._first))
        return VERSION + urlsafe_b64encode(self._first + nonce + closed).rstrip(b"=").decode()

    def open(self, kind: Kind, envelope: str) -> dict[str, Any] | None:
        """What is inside, or None: whoever asks need not know why, and an attacker must not."""
        raw = _spelled(envelope)
        if raw is None or len(raw) <= _KEY_ID + _NONCE + _TAG:
            return None
        key_id, nonce, closed = raw[:_KEY_ID], raw[_KEY_ID : _KEY_ID + _NONCE], raw[_KEY_ID + _NONCE :]
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            return None
        try:
            text = cipher.decrypt(nonce, closed, _bound(kind, key_id))
        except self._invalid:
            return None
        # from here on it is our own writing
        plain = zlib.decompress(text[1:]) if text[:1] == _COMPRESSED else text[1:]
        sealed = msgspec.json.decode(plain, type=_Sealed)
        age = self._now() - sealed.at
        return sealed.content if self._max_age is None or -_SKEW <= age <= self._max_age else None


def _derived(key: str, purpose: str) -> bytes:
    """32 bytes of a key of any length, others for each purpose."""
    return digest(sha256(key.encode()).digest(), b"am-proxy seal " + purpose.encode(), "sha256")


def _bound(kind: Kind, key_id: bytes) -> bytes:
    return b"|".join((VERSION.encode(), kind.encode(), key_id))


def _spelled(envelope: str) -> bytes | None:
    """The bytes of an envelope, if this is how we would have spelled them."""
    if not envelope.startswith(VERSION) or not envelope.isascii():
        return None
    body = envelope.removeprefix(VERSION)
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return None
    return raw if urlsafe_b64encode(raw).rstrip(b"=").decode() == body else None
