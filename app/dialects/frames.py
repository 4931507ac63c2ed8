"""Bytes of an answer -> payloads: server-sent events with JSON, or one whole body, with the tolerances of real servers.

The standard ends an event at an empty line, but not every model server sends one, so waiting for it could delay each
payload until the next. A `data:` line that is JSON by itself is therefore a payload at once; one that is not is the
beginning of a payload of several lines. A whole answer that is sent although a stream was requested is read, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..types.json import Halves, Json, as_object, decode

_BOM = b"\xef\xbb\xbf"
_OF_EVENTS = (b":", b"event:", b"id:", b"retry:")
"""How the lines of an event begin that are not read."""


class NotAnAnswerError(Exception):
    """The bytes of an answer are not in the form of this API: a phrase that says why."""

    before: Sequence[Json] = ()
    """The payloads before these bytes."""


class Lines:
    """Bytes in, whole lines out, without their ends: LF, CR LF or CR. Nothing depends on where the bytes were cut."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in this piece."""
        if self._after_cr and data:  # perhaps a CR LF that was cut in two
            self._after_cr, data = False, data.removeprefix(b"\n")
        self._begun += data
        if b"\n" not in data and b"\r" not in data:
            return []
        text = bytes(self._begun).removeprefix(_BOM)
        self._after_cr = text.endswith(b"\r")
        lines = text.splitlines()
        self._begun = bytearray(b"" if text.endswith((b"\r", b"\n")) else lines.pop())
        return lines


class Frames(ABC):
    """Reads one answer."""

    _payload = "a chunk"
    _no_answer = "the answer is neither a stream nor JSON"

    def __init__(self, _asked: Json | None = None) -> None:
        self._lines = Lines()
        self._pending: list[bytes] = []
        """The data lines of a payload that is not JSON yet."""
        self._other = bytearray()
        """Lines that do not belong to a stream: the body, if this is no stream."""
        self._halves: Halves = {}
        """Of characters that the server cut into two payloads."""
        self._found = False
        self.done = False
        """The answer is complete: nothing behind it is read."""

    def feed(self, piece: bytes) -> list[Json]:
        """The payloads that end in this piece. Raises `NotAnAnswerError`."""
        payloads: list[Json] = []
        try:
            for line in self._lines.feed(piece):
                if line.startswith(b"data:"):
                    payloads += self._data(line[5:])
                elif line or self._pending:
                    payloads += self._other_line(line)
        except NotAnAnswerError as error:
            error.before = payloads
            raise
        return payloads

    def end(self) -> list[Json]:
        """The payloads that are left when no more bytes come."""
        payloads = self.feed(b"\n\n")
        if self._other and not self._found and not self.done:
            answer = decode(bytes(self._other))
            if not isinstance(answer, dict):
                raise NotAnAnswerError(self._no_answer)
            payloads += self._whole(answer)
        return payloads

    def go_on(self) -> Json | None:
        """At the end: the body to be posted for the rest of an answer that its server paused, which is then read on."""
        return None

    @abstractmethod
    def _taken(self, payload: Json) -> list[Json]:
        """What is read for this payload."""

    @abstractmethod
    def _whole(self, answer: Json) -> list[Json]:
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
        payload = decode(b"\n".join(self._pending), self._halves)
        if payload is None:
            return []
        self._pending = []
        if not isinstance(payload, dict):
            raise NotAnAnswerError(f"{self._payload} of the stream is not an object")
        self._found = True
        return self._taken(payload)

    def _other_line(self, line: bytes) -> list[Json]:
        """The error in a line of older llama.cpp. Other lines may be a body; no payload goes beyond an empty one."""
        if not line:
            raise NotAnAnswerError(f"{self._payload} of the stream is not JSON")
        if line.startswith(b"error:"):
            error = as_object(decode(line[6:]))
            self._found = self._found or bool(error)
            return self._taken({"error": error}) if error else []
        if not self._found and not line.startswith(_OF_EVENTS):
            self._other += line + b"\n"
        return []
