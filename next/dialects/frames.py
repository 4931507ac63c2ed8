"""Bytes of an answer -> payloads: server-sent events with JSON, or one whole body, with the tolerances of real servers.

The standard ends an event at an empty line, but not every model server sends one, so waiting for it could delay each
payload until the next. A `data:` line that is JSON by itself is therefore a payload at once; one that is not is the
beginning of a payload of several lines. A whole answer that is sent although a stream was requested is read, too.
"""

from abc import ABC, abstractmethod

from ..types.json import Halves, Json, NotJsonError, decode
from .record import NotAnAnswerError

LONGEST = 32 * 1024 * 1024
"""Bytes of one line. The largest that is known, a picture in base64, is far below."""
_BOM = b"\xef\xbb\xbf"


class TooLongError(Exception):
    """A line is longer than any model's server has reason to send."""


class Lines:
    """Bytes in, whole lines out, without their ends: LF, CR LF or CR. Nothing depends on where the bytes were cut."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in this piece."""
        if self._after_cr and data[:1] == b"\n":  # a CR LF that was cut in two
            data = data[1:]
            self._after_cr = False
        self._begun += data
        if self._at_start:
            if len(self._begun) < len(_BOM) and _BOM.startswith(self._begun):
                return []
            self._at_start = False
            if self._begun.startswith(_BOM):
                del self._begun[: len(_BOM)]
        if b"\n" not in data and b"\r" not in data:
            self._after_cr = self._after_cr and not data
            if len(self._begun) > LONGEST:
                raise TooLongError
            return []
        text = bytes(self._begun)
        self._after_cr = text[-1:] == b"\r"
        lines = text.splitlines()
        self._begun = bytearray(b"" if text[-1:] in b"\r\n" else lines.pop())
        return lines

    def rest(self) -> bytes:
        """What follows the last line end, when nothing more comes."""
        return bytes(self._begun)


_TRIED = 64 * 1024
"""Bytes up to which a payload of several lines is decoded after each line; a longer one only at its empty line."""
_MOST_TRIED = 64
_TOO_LONG = "a line of the stream is too long"


class StreamFrames(ABC):
    """Reads one answer."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._pending: list[bytes] = []
        """The data lines of a payload that is not JSON yet."""
        self._size = 0
        """Of all of them but the first."""
        self._other = bytearray()
        """Lines that do not belong to a stream: the body, if this is no stream."""
        self._halves: Halves = {}
        """Of characters that the server cut into two payloads."""
        self._found = False
        self.done = False
        """The answer is complete: nothing behind it is read."""

    def feed(self, piece: bytes) -> list[Json]:
        """The payloads that end in this piece."""
        payloads: list[Json] = []
        try:
            for line in self._lines.feed(piece):
                if line.startswith(b"data:"):
                    payloads += self._data(line[5:])
                elif line or self._pending:
                    payloads += self._other_line(line)
        except TooLongError:
            raise NotAnAnswerError(_TOO_LONG) from None
        except NotAnAnswerError as error:
            error.before = payloads
            raise
        return payloads

    def end(self) -> list[Json]:
        """The payloads that are left when no more bytes come."""
        payloads = self.feed(b"\n\n")
        if self._other and not self._found and not self.done:
            payloads += self._whole(bytes(self._other))
        return payloads

    def go_on(self) -> Json | None:
        """Nothing: most servers do not pause."""
        return None

    @abstractmethod
    def _taken(self, payload: Json) -> list[Json]:
        """What is read for this payload."""

    @abstractmethod
    def _whole(self, body: bytes) -> list[Json]:
        """What is read for an answer that was not streamed."""

    def _ended(self) -> list[Json]:
        """What is read for `[DONE]`."""
        return []

    def _data(self, data: bytes) -> list[Json]:
        """The payload of this data line, if it is complete together with the lines before it."""
        word = data.strip()
        if self.done:
            return []
        if not self._pending and (not word or word == b"[DONE]"):
            self.done = bool(word)
            return self._ended() if self.done else []
        self._pending.append(data)
        self._size = self._size + len(data) if len(self._pending) > 1 else 0
        if self._size > LONGEST:
            raise NotAnAnswerError(_TOO_LONG)
        if self._size > _TRIED or len(self._pending) > _MOST_TRIED:
            return []
        try:
            payload = decode(b"\n".join(self._pending), self._halves)
        except NotJsonError:
            return []
        self._pending = []
        if not isinstance(payload, dict):
            raise NotAnAnswerError("a chunk of the stream is not an object")
        self._found = True
        return self._taken(payload)

    def _other_line(self, line: bytes) -> list[Json]:
        """The error in a line of older llama.cpp; or the payload that ends at this empty line. Others may be a body."""
        if line.startswith(b"error:"):
            try:
                error = decode(line[6:])
            except NotJsonError:
                return []
            self._found = self._found or isinstance(error, dict)
            return [{"error": error}] if isinstance(error, dict) and error else []
        if not line:
            pending, self._pending = b"\n".join(self._pending), []
            try:
                payload = decode(pending, self._halves)
            except NotJsonError:
                raise NotAnAnswerError("a chunk of the stream is not JSON") from None
            return self._taken(payload) if isinstance(payload, dict) else []
        if not self._found and not line.startswith((b":", b"event:", b"id:", b"retry:")):
            self._other += line + b"\n"
            if len(self._other) > LONGEST:
                raise NotAnAnswerError(_TOO_LONG)
        return []
