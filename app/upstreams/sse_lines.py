"""Reads server-sent events from bytes that arrive in pieces, as the standard defines.

A line ends at LF, CR LF or CR and nowhere else: a model's text may hold every other kind of line break. A byte order
mark at the start is not part of the stream. Nothing here depends on where the bytes were cut.
"""

import json
from typing import Any, Final

import msgspec

from ..json_text import holds_more_values

LONGEST: Final = 32 * 1024 * 1024
"""Bytes of one line, and of one event. The largest that is known, a picture in base64, is far below."""

LINE_COST: Final = 64
"""Bytes of memory that a line takes in addition to its own bytes."""

MOST_VALUES: Final = 250_000
"""JSON values of one event. Each takes memory, however short it is on the wire."""
TOO_MANY_VALUES: Final = f"an event contains more than {MOST_VALUES} JSON values"

_BOM: Final = b"\xef\xbb\xbf"


class TooLongError(Exception):
    """A line, or the data of one event, is longer than any model's server has reason to send."""


class NotEventsError(Exception):
    """The upstream's answer is not in the expected form."""


_decode: Final = msgspec.json.Decoder().decode


def event_object(text: bytes) -> dict[str, Any]:
    """The JSON object that is the data of one event."""
    if len(text) > MOST_VALUES and holds_more_values(text, MOST_VALUES):
        raise NotEventsError(TOO_MANY_VALUES)
    try:
        event = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
        try:  # half of a UTF-16 character, NaN: a model's text is not refused for that
            event = json.loads(text)
        except (ValueError, RecursionError):
            raise NotEventsError("an event of the stream is not JSON") from None
    if type(event) is not dict:
        raise NotEventsError("an event of the stream is not an object")
    return event


class SseLines:
    """Bytes in, whole lines out, without their ends."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun = bytearray()
        """The line that has begun. However small the pieces in which it comes, it costs no more than its length."""
        self._after_cr = False
        self._started = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in this piece. Refuses (`TooLongError`) a line without end."""
        if not self._started:
            data = self._start(data)
        if self._after_cr and data:
            self._after_cr = False
            if data[:1] == b"\n":  # a CR LF that was cut in two
                data = data[1:]
        if b"\n" not in data and b"\r" not in data:
            self._hold(data)
            return []
        if self._begun:
            self._begun += data
            data = self.rest()
        lines = data.splitlines()
        last = data[-1:]
        self._after_cr = last == b"\r"
        if last not in (b"\n", b"\r"):
            self._hold(lines.pop())
        return lines

    def only_data(self, piece: bytes) -> bytes | None:
        """The data of a piece that is one whole event with one line of it, as most are; None for any other piece.

        The next piece begins a line then, and this one need not be fed.
        """
        if self._begun or self._after_cr or not self._started or piece[-2:] != b"\n\n" or b"\r" in piece:
            return None
        start = piece.find(b"\n") + 1 if piece[:6] == b"event:" else 0
        if piece[start : start + 5] != b"data:" or piece.find(b"\n", start) != len(piece) - 2:
            return None
        return piece[start + 5 : -2]

    def rest(self) -> bytes:
        """What follows the last line end, when nothing more comes."""
        rest = bytes(self._begun)
        self._begun = bytearray()
        return rest

    def _start(self, data: bytes) -> bytes:
        """The first bytes without the mark, which may come in pieces like everything else."""
        data = self.rest() + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._begun += data
            return b""
        self._started = True
        return data.removeprefix(_BOM)

    def _hold(self, data: bytes) -> None:
        self._begun += data
        if len(self._begun) > self._longest:
            raise TooLongError


class SseEvents:
    """Bytes in, the data of whole events out. An event that is cut off by the end of the stream is dropped."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._lines = SseLines(longest)
        self._longest = longest
        self._data: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The data of the events that end in this piece; that of several lines is joined by LF."""
        if not self._data and (only := self._lines.only_data(data)) is not None and len(only) <= self._longest:
            return [only[1:] if only[:1] == b" " else only]
        events = []
        for line in self._lines.feed(data):
            if line[:5] == b"data:":
                value = line[6:] if line[5:6] == b" " else line[5:]
                self._held += len(value) + LINE_COST * bool(self._data)
                self._data.append(value)
                if self._held > self._longest:
                    raise TooLongError
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data.clear()
                self._held = 0
        return events
