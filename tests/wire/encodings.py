"""Bodies as clients encode them: `packed("zstd", data)`."""

import gzip
import sys
from typing import Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ENCODINGS: Final = ("gzip", "x-gzip", "zstd")


def packed(encoding: str, data: bytes) -> bytes:
    """The data in one frame."""
    if encoding == "zstd":
        return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    return gzip.compress(data)
