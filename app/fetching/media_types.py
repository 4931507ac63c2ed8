"""The media type of data, read from its first bytes: names and headers are not trusted. Pure."""

import re
from base64 import b64decode
from binascii import Error

_SIGNATURES = [
    (re.compile(signature, re.DOTALL), kind)
    for signature, kind in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF.{4}WEBP", "image/webp"),
        (rb"%PDF-", "application/pdf"),
    )
]
_OTHER_IMAGES = re.compile(rb"BM|II\*\0|MM\0\*|.{4}ftyp", re.DOTALL)
"""First bytes of other images, which some models read: BMP, TIFF, AVIF and HEIC."""
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+(?:=\s*){0,2}", re.ASCII)
"""Base64, with or without line ends."""
_BEGINNING = 64
"""Characters of base64 that are enough to find the type: a multiple of four."""
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_TEXTS = frozenset(
    {"application/json", "application/xml", "text/css", "text/csv", "text/html", "text/markdown", "text/xml"}
)
"""Declared types that are kept where the bytes are text; other text is `text/plain`."""


def sniffed(data: bytes) -> str | None:
    """The media type of these bytes; None if models do not read this type."""
    return next((kind for signature, kind in _SIGNATURES if signature.match(data)), None)


def type_of(data: bytes, declared: str) -> str | None:
    """The same, or that of a text in UTF-8."""
    if kind := sniffed(data):
        return kind
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if not text or _CONTROL.search(data[:4096]):
        return None
    return declared if declared in _TEXTS else "text/plain"


def sniffed_base64(data: str) -> str | None:
    """The media type of bytes in base64; also None if the beginning is not base64."""
    return sniffed(_beginning(data) or b"")


def image_fault(uri: str) -> str | None:
    """Why the data of this data URI is not an image; None if its beginning is that of one."""
    data = uri.partition(",")[2]
    begins = _beginning(data) if _BASE64.fullmatch(data) else None
    if not begins:
        return "its data is not base64"
    if str(sniffed(begins)).startswith("image/") or _OTHER_IMAGES.match(begins):
        return None
    return "its data is not an image of a known type (PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC)"


def _beginning(data: str) -> bytes | None:
    """The first bytes of base64, which may be written in lines; None if it is none."""
    text = "".join(data[: 16 * _BEGINNING].split())[:_BEGINNING]
    try:
        return b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError):
        return None
