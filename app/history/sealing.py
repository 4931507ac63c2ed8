"""Seals: content that clients carry from turn to turn, and only this server can read.

    "AM2." base64url( id of the key (4) | nonce (12) | AES-256-GCM( how | [time, content] ) with its tag (16) )

The first byte of the plain text is its packing: 0 is as it is, 1 is compressed. The version, the kind, the key's id and
the owner are authenticated with the text, so that a seal opens only for its kind and its owner.
"""

import os
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from hmac import digest
from typing import Any

import msgspec

from ..types.json import has_too_many_values
from ..types.problems import refuse

VERSION = "AM2."
_KEY_ID = 4
_NONCE = 12
_TAG = 16
_LONG = 256 * 1024
"""Bytes from which speed counts more than length: an image in base64 hardly gets shorter."""
_MOST_BYTES = 32 * 1024 * 1024
"""Of all that is opened for one request: a small envelope can hold a large text."""
_SKEW = 300
"""Seconds by which another server's clock may be ahead."""


class Seals:
    """Seals with the first key, and opens with any: keys can be changed, and shared by servers."""

    def __init__(self, keys: Sequence[str], max_age: float | None = None) -> None:
        """`max_age`: seconds after which a seal opens no more."""
        self._keys = {_derived(key, "id")[:_KEY_ID]: _derived(key, "cipher") for key in reversed(keys)}
        self._first = _derived(keys[0], "id")[:_KEY_ID]
        self._max_age = max_age

    def seal(self, kind: str, owner: str, content: Any) -> str:
        """An envelope with this content."""
        plain = msgspec.json.encode([int(time.time()), content])
        short = zlib.compress(plain, 1 if len(plain) > _LONG else -1)
        packed = b"\x01" + short if len(short) < len(plain) else b"\x00" + plain
        nonce = os.urandom(_NONCE)
        closed = self._cipher(self._first).encrypt(nonce, packed, _associated(kind, self._first, owner))
        return VERSION + urlsafe_b64encode(self._first + nonce + closed).rstrip(b"=").decode()

    def opened(self, kind: str, owner: str, envelope: str) -> bytes | None:
        """The packed text of an envelope; None, without the reason, if it does not open."""
        raw = _decoded(envelope.removeprefix(VERSION)) if envelope.startswith(VERSION) else b""
        key_id = raw[:_KEY_ID]
        if key_id not in self._keys or len(raw) <= _KEY_ID + _NONCE + _TAG:
            return None
        from cryptography.exceptions import InvalidTag

        nonce, closed = raw[_KEY_ID : _KEY_ID + _NONCE], raw[_KEY_ID + _NONCE :]
        try:
            plain: bytes = self._cipher(key_id).decrypt(nonce, closed, _associated(kind, key_id, owner))
        except InvalidTag:
            return None
        return plain

    def is_fresh(self, at: int) -> bool:
        """Whether what was sealed at this time still opens."""
        return self._max_age is None or -_SKEW <= time.time() - at <= self._max_age

    def _cipher(self, key_id: bytes) -> Any:
        """The library takes 7 MB and 10 ms, and many servers never seal anything."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._keys[key_id])


class Sealer:
    """Seals for one caller, and opens what it sends back in one request, up to a limit."""

    def __init__(self, seals: Seals, owner: str, *, always: bool = False) -> None:
        """`always`: provider state is sealed for every client, not only for those that ask for it."""
        self.always = always
        self._seals = seals
        self._owner = owner
        self._left = _MOST_BYTES

    def fresh(self) -> "Sealer":
        """A sealer for the same caller that has opened nothing yet: the same request is read once more."""
        return Sealer(self._seals, self._owner, always=self.always)

    def seal(self, kind: str, content: Any) -> str:
        """An envelope with this content."""
        return self._seals.seal(kind, self._owner, content)

    def open(self, kind: str, envelope: str, path: str) -> Any:
        """The content; None if it does not open. Raises `ProblemError` where a request's envelopes hold too much."""
        packed = self._seals.opened(kind, self._owner, envelope)
        if packed is None:
            return None
        # this server wrote the text, but the client chose its content, and sends it as often as it likes
        plain = zlib.decompressobj().decompress(packed[1:], self._left + 1) if packed[:1] == b"\x01" else packed[1:]
        self._left -= len(plain)
        if self._left < 0 or has_too_many_values(plain):
            message = f"'{path}' cannot be decrypted: the encrypted items of a request may contain {_MOST_BYTES} bytes "
            raise refuse("invalid_value", f"{message}in total, and these contain more. Send fewer of them.", path)
        at, content = msgspec.json.decode(plain)
        return content if self._seals.is_fresh(at) else None


def _decoded(body: str) -> bytes:
    """The bytes of an envelope. None of one that is not spelled as we spell it: a changed bit is noticed anywhere."""
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return b""
    return raw if urlsafe_b64encode(raw).rstrip(b"=").decode() == body else b""


def _derived(key: str, purpose: str) -> bytes:
    """32 bytes derived from a key of any length, different for each purpose."""
    return digest(sha256(key.encode()).digest(), b"am-proxy seal " + purpose.encode(), "sha256")


def _associated(kind: str, key_id: bytes, owner: str) -> bytes:
    return b"|".join((VERSION.encode(), kind.encode(), key_id, b"owner " + owner.encode("utf-8", "surrogatepass")))
