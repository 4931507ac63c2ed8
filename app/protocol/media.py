"""What kind of picture or file bytes are, by what they begin with: names and headers may say anything. Pure."""

from base64 import b64decode
from binascii import Error
from typing import Final

_MAGIC: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"%PDF-", "application/pdf"),
)
"""Where the mark stands, the mark, and what bears it."""

_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")
_LOOKED_AT: Final = 4096


def sniffed(data: bytes) -> str | None:
    """The media type of these bytes; None if they are none of those that models read."""
    for place, mark, kind in _MAGIC:
        if data[place : place + len(mark)] == mark and (kind != "image/webp" or data[:4] == b"RIFF"):
            return kind
    return None


def is_text(data: bytes) -> bool:
    """Whether these bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data) and not _CONTROL & set(data[:_LOOKED_AT])


def sniffed_base64(data: str) -> str | None:
    """The same for bytes in base64; None also if it is no base64 where it begins."""
    try:
        return sniffed(b64decode(data[:64] + "=" * (-len(data[:64]) % 4)))
    except (Error, ValueError):
        return None
