"""Decodes the body of a request that was sent with a Content-Encoding: gzip or zstd.

Theory of operation
-------------------
The whole body is received first, within the limits of any other body, and then decoded in steps. A step makes at most
`STEP` bytes and reads at most as many, so it is short, whatever the body contains; between two steps, other work runs.
A body may become 10,000 times larger: the bytes of each step are counted before the next one, and the first byte
beyond the limit ends it. While a zstd body is decoded, its decoder keeps a window of earlier bytes, never more than
it has decoded and never more than `WINDOW`.

Both formats allow several frames (gzip: members) one after the other. Whatever follows a frame must be another one.
"""

import sys
import zlib
from typing import TYPE_CHECKING, Final, Protocol

from ..protocol.problems import ProblemError, refuse

if TYPE_CHECKING:
    from starlette.datastructures import Headers

ACCEPTED: Final = "zstd, gzip"
"""The header `Accept-Encoding` of an answer to any other encoding."""
STEP: Final = 256 * 1024
"""Bytes that one step makes at most, and reads at most."""
PIECE: Final = 64 * 1024
"""Bytes that a decoder is given at once: it copies what it has not used."""
WINDOW_LOG: Final = 23
"""The window of a zstd frame in bytes, as a power of two: 8 MiB, the most that RFC 9659 allows in HTTP."""
MOST_FRAMES: Final = 1024
"""Frames of one body. Each costs as much as some kilobytes of content, even if it is empty."""

_GZIP_HEADER: Final = 16 + zlib.MAX_WBITS
"""What tells zlib that the data is gzip's."""


class _Frame(Protocol):
    """Decodes one frame."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipFrame:
    """Python's own decoder, with the interface of the one for zstd: it keeps the input that it has not used."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(_GZIP_HEADER)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        decoded = self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)
        self.needs_input = not self.eof and len(decoded) < max_length and not self._decoder.unconsumed_tail
        return decoded


def _zstd_frame() -> _Frame:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 — most clients never send it
    else:
        from backports import zstd  # noqa: PLC0415 — most clients never send it
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG})


_FRAMES: Final = {"gzip": _GzipFrame, "x-gzip": _GzipFrame, "zstd": _zstd_frame}


def encoding_of(headers: "Headers") -> str | None:
    """The encoding of a body, None if it has none. Raises `ProblemError` if it has another one, or several."""
    encoding = ",".join(headers.getlist("content-encoding")).strip().lower()
    if encoding in {"", "identity"}:
        return None
    if "," in encoding:
        message = "Send the body with one Content-Encoding. This body has several, which this server does not decode."
        raise refuse("unsupported_encoding", message)
    if encoding not in _FRAMES:
        message = "Send the body as it is, or with `Content-Encoding: zstd` or `gzip`. This server decodes no others."
        raise refuse("unsupported_encoding", message)
    return encoding


class BodyDecoder:
    """Decodes one body, step by step."""

    def __init__(self, encoding: str, encoded: bytearray) -> None:
        self._encoding = encoding
        self._encoded = encoded
        self._frame: _Frame = _FRAMES[encoding]()
        self._frames = 1
        self._unused = b""
        """Bytes behind the last frame that are no longer in `_encoded`."""
        self.is_complete = False

    def step(self) -> bytes:
        """Decodes some more, and takes what it reads from the bytes that it was made with.

        Raises `ProblemError` if they cannot be decoded. zlib's and zstd's own words say little, so they are not told.
        """
        decoded = bytearray()
        read = 0
        while not self.is_complete and len(decoded) < STEP and read < STEP:
            piece = self._next_piece() if self._frame.needs_input else b""
            read += len(piece)
            try:
                decoded += self._frame.decompress(piece, STEP - len(decoded))
            except Exception as error:
                raise self._refusal("is not valid in that format") from error
            if self._frame.eof:
                self._end_frame()
        return bytes(decoded)

    def _next_piece(self) -> bytes:
        piece = self._unused
        if not piece:
            piece = bytes(self._encoded[:PIECE])
            del self._encoded[:PIECE]
        self._unused = b""
        if not piece:
            raise self._refusal("ends too early")
        return piece

    def _end_frame(self) -> None:
        self._unused = self._frame.unused_data
        if not self._unused and not self._encoded:
            self.is_complete = True
            return
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise self._refusal(f"has more than {MOST_FRAMES} parts that are compressed separately")
        self._frame = _FRAMES[self._encoding]()

    def _refusal(self, fault: str) -> ProblemError:
        where = "" if self._frames == 1 else f" Its fault is behind the end of part {self._frames - 1}."
        return refuse("invalid_encoding", f"The body has `Content-Encoding: {self._encoding}`, but it {fault}.{where}")
