"""The body of a request: bounded in bytes and in time, decoded, and JSON by its headers."""

import asyncio
import contextlib
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Receive

from ..turns.turn import STOPPED
from ..types.problems import ProblemError, refuse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPTED = "zstd, gzip"
"""The header `Accept-Encoding` of an answer to any other encoding."""
_GZIP = 16 + zlib.MAX_WBITS
"""Tells zlib that the data is gzip's."""
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
"""8 MiB, the most that RFC 9659 allows in HTTP."""
_MOST_PARTS = 1000
"""Of one body, each compressed by itself."""
_PIECE = 64 * 1024
"""What is behind the end of a part in its piece is copied for the next one."""


def encoding_of(given: str) -> str:
    """The encoding that this header names, empty if the body is as it is. Raises `ProblemError` for any other."""
    encoding = given.strip().lower().removeprefix("x-")
    if encoding in ("", "identity"):
        return ""
    if encoding in ("gzip", "zstd"):
        return encoding
    message = "Send the body as it is, or with one Content-Encoding: `Content-Encoding: zstd` or `gzip`."
    raise refuse("unsupported_encoding", message)


def decoded(body: bytes, encoding: str, most: int) -> bytes:
    """The body, decoded: it may grow 10,000 times, so that no more than `most` bytes are made, and one.

    Raises `ProblemError` if it cannot be decoded.
    """
    whole, part, parts, fault = bytearray(), None, 0, "it is not valid in that format"
    with contextlib.suppress(zlib.error, zstd.ZstdError):
        for start in range(0, len(body), _PIECE):
            piece = body[start : start + _PIECE]
            while piece and parts <= _MOST_PARTS:
                if part is None:
                    part = zlib.decompressobj(_GZIP) if encoding == "gzip" else zstd.ZstdDecompressor(options=_WINDOW)
                    parts, fault = parts + 1, "something follows its end" if parts else fault
                whole += part.decompress(piece, most + 1 - len(whole))
                if len(whole) > most:
                    return bytes(whole)
                piece, part = part.unused_data, None if part.eof else part
        if part is None and 0 < parts <= _MOST_PARTS:
            return bytes(whole)
        fault = f"it has more than {_MOST_PARTS} parts" if parts > _MOST_PARTS else "it ends too early"
    raise refuse("invalid_encoding", f"The body has `Content-Encoding: {encoding}`, but {fault}.")


_SILENCE = 30
"""Seconds between two pieces of a body."""
_TIME = 600
"""Seconds for all of it."""
_LINGER = 2
"""Seconds in which a body that nobody wants is read and dropped: who still sends reads no answer."""
_DECODERS = ThreadPoolExecutor(2)
"""32 MiB of zeros take 130 ms, and 100 kB to send."""


class LeftError(Exception):
    """The client has left before its request was complete."""


@dataclass
class Body:
    """The body of one request."""

    receive: Receive
    headers: Headers
    reading: set[asyncio.Timeout]
    """The clocks of bodies that arrive; who ends the server takes them out."""
    more: bool = True

    async def read(self, most: int) -> bytes:
        """All of it, which may have so many bytes. Raises `ProblemError`, or `LeftError`."""
        given = self.headers
        # the parser reads chunks anyway
        if ",".join(given.getlist("transfer-encoding")).lower() not in ("", "chunked"):
            raise refuse("invalid_http", "The only Transfer-Encoding that this server decodes is `chunked`.")
        kind = given.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise refuse("unsupported_media_type", "Send JSON, with the header `Content-Type: application/json`.")
        encoding = encoding_of(",".join(given.getlist("content-encoding")))
        length = given.get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise _too_large("body", most)
        body, clock = bytearray(), asyncio.timeout(_SILENCE)
        self.reading.add(clock)
        try:
            async with clock:
                last = asyncio.get_running_loop().time() + _TIME
                while self.more:
                    body += await self._piece()
                    if len(body) > most:
                        raise _too_large("body", most)
                    if clock in self.reading:
                        clock.reschedule(min(asyncio.get_running_loop().time() + _SILENCE, last))
        except TimeoutError:
            if clock not in self.reading:
                raise ProblemError(STOPPED) from None
            raise refuse("request_timeout", f"The body took too long: {len(body)} bytes of it have arrived.") from None
        finally:
            self.reading.discard(clock)
        if not encoding:
            return bytes(body)
        loop = asyncio.get_running_loop()
        if len(whole := await loop.run_in_executor(_DECODERS, decoded, bytes(body), encoding, most)) > most:
            raise _too_large("decoded body", most)
        return whole

    async def drop(self) -> bool:
        """Reads what is left of it, for a moment. Whether that was all: then the connection can be used again."""
        with contextlib.suppress(TimeoutError, LeftError):
            async with asyncio.timeout(_LINGER):
                while self.more:
                    await self._piece()
        return not self.more

    async def _piece(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise LeftError
        self.more = message.get("more_body", False)
        piece: bytes = message.get("body", b"")
        return piece


def _too_large(what: str, most: int) -> ProblemError:
    return refuse("request_too_large", f"The {what} is longer than the {most} bytes this server reads.")
