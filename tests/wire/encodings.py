"""Bodies as clients encode them: `packed("zstd", data)`, and other frames of zstd."""

import gzip
import sys
from typing import Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENCODINGS: Final = ("gzip", "x-gzip", "zstd")
SKIPPED: Final = b"\x50\x2a\x4d\x18\x05\x00\x00\x00abcde"
"""A frame of zstd that contains nothing of the content."""


def packed(encoding: str, data: bytes) -> bytes:
    """The data in one frame."""
    if encoding == "zstd":
        return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    return gzip.compress(data)
