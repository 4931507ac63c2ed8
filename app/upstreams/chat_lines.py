"""The bytes of a chat server's answer -> chunk dicts.

The standard ends an event at an empty line, but not every chat server sends one, and a client who waits for it would
wait for nothing. So a `data:` line that is JSON by itself is a chunk at once; one that is not is the beginning of a
chunk of several lines. What comes instead of a stream, though a stream was asked for, is read as the whole it is.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from app.protocol.sse_lines import LONGEST, SseLines, TooLongError

Json = dict[str, Any]

TOO_LONG: Final = "a line of the stream is too long"
_MOST_LINES: Final = 1000
"""Lines of one chunk: each is tried with all before it."""

_BESIDE: Final = ("usage", "timings", "citations", "search_results")
"""What an answer says beside its choices, and is read."""

_decode: Final = msgspec.json.Decoder().decode


class NotAStreamError(Exception):
    """The upstream's answer cannot be read as a stream of chunks."""


class ChatLines:
    """Reads one answer."""

    def __init__(self) -> None:
        self._lines = SseLines(LONGEST)
        self._begun: bytes = b""
        """Data lines that are not JSON yet."""
        self._other: list[bytes] = []
        """What stands outside of the stream's own lines: the body, if this is no stream."""
        self._other_held = 0
        self._found = False
        self.done = False
        """The server said `[DONE]`: nothing that follows is read."""

    def read(self, data: bytes) -> Iterator[Json]:
        """The chunks that end in this piece. Raises `NotAStreamError` behind the last sound one."""
        for line in self._feed(data):
            if self.done:
                return
            if line[:5] == b"data:":
                chunk = self._chunk(line[5:])
                if chunk is not None:
                    yield chunk
            else:
                self._aside(line)

    def end(self) -> Iterator[Json]:
        """What is left when nothing more comes."""
        for line in (self._lines.rest(), b""):
            if line[:5] == b"data:" and not self.done:
                chunk = self._chunk(line[5:])
                if chunk is not None:
                    yield chunk
            elif not self.done:
                self._aside(line)
        if self._other and not self._found and not self.done:
            yield whole(b"\n".join(self._other))

    def _feed(self, data: bytes) -> list[bytes]:
        try:
            return self._lines.feed(data)
        except TooLongError:
            raise NotAStreamError(TOO_LONG) from None

    def _chunk(self, told: bytes) -> Json | None:
        if self._begun:
            told = self._begun + b"\n" + told
            if len(told) > LONGEST or told.count(b"\n") > _MOST_LINES:
                raise NotAStreamError(TOO_LONG)
        try:
            chunk = _decode(told)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
            chunk = self._odd(told)
            if chunk is None:
                return None
        if type(chunk) is not dict:
            raise NotAStreamError("a chunk of the stream is not an object")
        self._begun = b""
        self._found = True
        return chunk

    def _odd(self, told: bytes) -> Any:
        """What is no JSON to msgspec: nothing at all, the end, half of a character in UTF-16, NaN; or half of it."""
        word = told.strip()
        if not word:
            return None
        if word == b"[DONE]":
            self.done = True
            return None
        try:
            return json.loads(told)
        except (ValueError, RecursionError):
            self._begun = told
            return None

    def _aside(self, line: bytes) -> None:
        if line:
            if not self._found and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                self._other.append(line)
                self._other_held += len(line)
                if self._other_held > LONGEST:
                    raise NotAStreamError(TOO_LONG)
        elif self._begun:
            raise NotAStreamError("a chunk of the stream is not JSON")


def whole(body: bytes) -> Json:
    """An answer that was not streamed although we asked for it, as the one chunk it amounts to."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAStreamError("the answer is neither a stream nor JSON") from error
    if isinstance(told, dict) and ("error" in told or told.get("object") == "error"):
        return told
    try:
        choice = told["choices"][0]
        delta = dict(choice["message"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NotAStreamError("the answer is no chat completion") from error
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": seat, **call} for seat, call in enumerate(delta["tool_calls"])]
    said = {"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason")}
    if choice.get("logprobs"):
        said["logprobs"] = choice["logprobs"]
    return {"choices": [said]} | {key: told[key] for key in _BESIDE if told.get(key)}
