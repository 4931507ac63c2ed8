"""Opens and closes what the program seals, so that cases show the content: `AM2.`, with the key of the cases."""

import json
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from hmac import digest
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEAL_KEY: Final = "the-key-of-the-cases-which-opens-nothing-else"
OWNER: Final = ""
_KINDS: Final = ("reasoning", "compaction", "refused")
_ENVELOPE: Final = re.compile(r"AM2\.[A-Za-z0-9_-]{40,}")
_TIME: Final = 1_700_000_000


def _derived(purpose: str) -> bytes:
    return digest(sha256(SEAL_KEY.encode()).digest(), b"am-proxy seal " + purpose.encode(), "sha256")


def _associated(kind: str, owner: str = OWNER) -> bytes:
    return b"|".join((b"AM2.", kind.encode(), _derived("id")[:4], b"owner " + owner.encode()))


def closed(kind: str, content: Any, owner: str = OWNER, *, short: bool = False) -> str:
    """An envelope, as the program makes it."""
    plain = json.dumps([_TIME, content]).encode()
    plain = b"\x01" + zlib.compress(plain) if short else b"\x00" + plain
    nonce = sha256(plain).digest()[:12]
    raw = _derived("id")[:4] + nonce + AESGCM(_derived("cipher")).encrypt(nonce, plain, _associated(kind, owner))
    return "AM2." + urlsafe_b64encode(raw).rstrip(b"=").decode()


def opened(envelope: str) -> str:
    """`SEALED kind {content}` for an envelope of the program. Raises an error if it is none."""
    body = envelope.removeprefix("AM2.")
    raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    for kind in _KINDS:
        try:
            packed = AESGCM(_derived("cipher")).decrypt(raw[4:16], raw[16:], _associated(kind))
        except InvalidTag:
            continue
        plain = zlib.decompressobj().decompress(packed[1:]) if packed[0] else packed[1:]
        return f"SEALED {kind} {json.dumps(json.loads(plain)[1])}"
    raise AssertionError(f"an envelope that does not open: {envelope}")


def all_opened(value: Any) -> Any:
    """A value whose envelopes are opened."""
    return _each(value, lambda text: opened(text) if _ENVELOPE.fullmatch(text) else text)


def all_closed(value: Any) -> Any:
    """A value whose readable contents are sealed."""

    def close(text: str) -> str:
        word, _, rest = text.partition(" ")
        kind, _, content = rest.partition(" ")
        return closed(kind, json.loads(content)) if word == "SEALED" else text

    return _each(value, close)


def _each(value: Any, change: Any) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _each(held, change) for key, held in value.items()}
        case list():
            return [_each(held, change) for held in value]
        case _:
            return value
