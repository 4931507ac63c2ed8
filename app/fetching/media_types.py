"""The media type of data, read from its first bytes: names and headers are not trusted. Pure."""

import re
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
"""Offset and bytes of each signature, and its media type."""

_OTHER_IMAGES: Final = ((0, b"BM"), (0, b"II*\0"), (0, b"MM\0*"), (4, b"ftyp"))
"""First bytes of other image types that some models read: BMP, TIFF, AVIF and HEIC."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+(?:=\s*){0,2}", re.ASCII)
"""Base64, with or without line ends, in three groups; no group can begin with the end of the one before it."""
_BLANK: Final = re.compile(r"\s*", re.ASCII)
_BEGINNING: Final = 64
"""Characters of base64 that are enough to find the type: a multiple of four."""
_BEGINNING_IN_LINES: Final = 16 * _BEGINNING
"""Characters that contain so many, also with very short lines."""

_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")
_LOOKED_AT: Final = 4096


def sniffed(data: bytes) -> str | None:
    """The media type of these bytes; None if models do not read this type."""
    for offset, signature, kind in _MAGIC:
        if data[offset : offset + len(signature)] == signature and (kind != "image/webp" or data[:4] == b"RIFF"):
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
    """The same for bytes in base64; also None if the beginning is not base64."""
    try:
        return sniffed(_beginning(data))
    except (Error, ValueError):
        return None


def image_fault(uri: str) -> str | None:
    """Why the data of this data URI is not an image; None if its beginning is that of one."""
    _, _, data = uri.partition(",")
    if not _BASE64.fullmatch(data):
        return "its data is not base64"
    try:
        begins = _beginning(data)
    except (Error, ValueError):
        return "its data is not base64"
    if not begins:
        return "its data is not base64"
    if str(sniffed(begins)).startswith("image/"):
        return None
    if any(begins[offset : offset + len(signature)] == signature for offset, signature in _OTHER_IMAGES):
        return None
    return "its data is not an image of a known type (PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC)"


def _beginning(data: str) -> bytes:
    """The first bytes of base64, without its line ends, so that it can be padded."""
    blank = _BLANK.match(data)
    start = blank.end() if blank else 0
    text = "".join(data[start : start + _BEGINNING_IN_LINES].split())[:_BEGINNING]
    return b64decode(text + "=" * (-len(text) % 4))
