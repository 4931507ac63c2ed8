"""The bytes of a chat server's answer -> chunk dicts.

The standard ends an event at an empty line, but not every chat server sends one, and a client who waits for it would
wait for nothing. So a `data:` line that is JSON by itself is a chunk at once; one that is not is the beginning of a
chunk of several lines. What comes instead of a stream, though a stream was asked for, is read as the whole it is.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from app.protocol.request.json_values import holds_more_values
from app.upstreams.sse_lines import LONGEST, MOST_VALUES, TOO_MANY_VALUES, SseLines, TooLongError

Json = dict[str, Any]

NO_STREAM: Final = "the answer is neither a stream nor JSON"
TOO_LONG: Final = "a line of the stream is too long"
_MOST_LINES: Final = 1000
"""Data lines of one chunk."""
_TRIED: Final = 64 * 1024
"""Bytes up to which a chunk of several lines is decoded at each of its lines; a longer one only at its empty line."""
_TRIES: Final = 4
"""How often the bytes of a chunk are decoded before its empty line, beside `_TRIED` bytes."""

_BESIDE: Final = ("usage", "timings", "citations", "search_results")
"""What an answer says beside its choices, and is read."""

UNSTATED: Final = "unstated"
"""The finish reason of an answer that is over but whose server named none. The reader of chunks knows it."""
_OLD_ERROR: Final = b"error:"
"""How older servers of llama.cpp begin the line that tells an error inside a stream."""
_NO_WORDS: Final = frozenset({"annotations", "extra_content", "provider_specific_fields", "role"})
"""Keys of a delta that add no words to the answer."""
_HOLD_WORDS: Final = {
    "audio": ("data", "transcript"),
    "content": ("image_url", "text", "thinking"),
    "images": ("image_url",),
    "reasoning_details": ("summary", "text"),
    "thinking": ("text",),
    "thinking_blocks": ("thinking",),
}
"""Of an object or list of objects under these keys, what holds words. Its other keys name, number or sign it."""

_decode: Final = msgspec.json.Decoder().decode


class NotAStreamError(Exception):
    """The upstream's answer cannot be read as a stream of chunks."""


class Progress:
    """How far an answer has come: whether it has begun, and whether it is over although it named no finish reason.

    Some servers (Snowflake's Claude, some behind OpenRouter) never name one. Behind their last word they count, in a
    chunk that says nothing else, and then say `[DONE]`. Chunks without words may stand between. A server that was cut
    in mid-answer counts nothing behind its last word.
    """

    def __init__(self) -> None:
        self._begun = False
        self._named = False
        self._counted = False

    def take(self, chunk: Json) -> list[Json]:
        """One more chunk, as it is to be read: an error that came beside words comes behind them."""
        if error := chunk.get("error"):
            if isinstance(error, dict) and not any(error.values()):
                chunk = {key: value for key, value in chunk.items() if key != "error"}
            elif chunk.get("choices"):
                return apart(chunk, begun=self._begun)
        self._begun = True
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        if choice.get("finish_reason"):
            self._named = True
        usage = chunk.get("usage")
        if self._counted:
            self._counted = not _words(choice)
        elif usage:  # most chunks have none: whether they hold words makes no difference then
            self._counted = _counts(usage) and not _words(choice)
        return [chunk]

    def at_done(self) -> list[Json]:
        """What to add behind `[DONE]`."""
        over = self._counted and not self._named
        return [{"choices": [{"index": 0, "delta": {}, "finish_reason": UNSTATED}]}] if over else []


class ChatLines:
    """Reads one answer."""

    def __init__(self) -> None:
        self._lines = SseLines(LONGEST)
        self._begun: list[bytes] = []
        """Data lines that are not JSON yet."""
        self._begun_held = self._decoded = 0
        """How many bytes they hold, and how many were decoded in vain."""
        self._undecoded = False
        """Whether the last of them was not tried."""
        self._other = bytearray()
        """What stands outside of the stream's own lines: the body, if this is no stream."""
        self._found = False
        self._progress = Progress()
        self.done = False
        """The server said `[DONE]`: nothing that follows is read."""

    def read(self, data: bytes) -> Iterator[Json]:
        """The chunks that end in this piece. Raises `NotAStreamError` behind the last sound one."""
        for line in self._feed(data):
            if self.done:
                return
            if line[:5] == b"data:":
                yield from self._chunks(line[5:])
            elif line[:6] == _OLD_ERROR and (error := _old_error(line)) is not None:
                self._found = True
                yield error
            else:
                yield from self._aside(line)

    def end(self) -> Iterator[Json]:
        """What is left when nothing more comes."""
        for line in (self._lines.rest(), b""):
            if line[:5] == b"data:" and not self.done:
                yield from self._chunks(line[5:])
            elif not self.done and line[:6] == _OLD_ERROR and (error := _old_error(line)) is not None:
                self._found = True
                yield error
            elif not self.done:
                yield from self._aside(line)
        if self._other and not self._found and not self.done:
            yield from self._progress.take(whole(bytes(self._other)))

    def _feed(self, data: bytes) -> list[bytes]:
        try:
            return self._lines.feed(data)
        except TooLongError:
            raise NotAStreamError(TOO_LONG) from None

    def _chunks(self, told: bytes) -> list[Json]:
        """What this data line says, if it is whole with those before it."""
        chunk = None if self._begun or len(told) > MOST_VALUES else self._short(told)
        if chunk is None:
            chunk = self._chunk(told)
        if chunk is not None:
            return self._progress.take(chunk)
        return self._progress.at_done() if self.done else []

    def _short(self, told: bytes) -> Json | None:
        """The chunk that a short line is by itself, as nearly all are; None if it must be looked at more closely."""
        try:
            chunk = _decode(told)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if type(chunk) is not dict:
            return None
        self._found = True
        return chunk

    def _chunk(self, told: bytes) -> Json | None:
        self._begun.append(told)
        self._begun_held += len(told) + 1
        if self._begun_held > LONGEST or len(self._begun) > _MOST_LINES:
            raise NotAStreamError(TOO_LONG)
        self._undecoded = len(self._begun) > 1 and (
            self._begun_held > _TRIED or self._decoded > _TRIED + _TRIES * self._begun_held
        )
        return None if self._undecoded else self._decoded_lines()

    def _decoded_lines(self) -> Json | None:
        """The chunk that the data lines amount to; None if they are no JSON (yet)."""
        told = self._begun[0] if len(self._begun) == 1 else b"\n".join(self._begun)
        self._decoded += len(told)
        self._undecoded = False
        _refuse_dense(told)
        try:
            chunk = _decode(told)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
            chunk = self._odd(told)
            if chunk is None:
                return None
        if type(chunk) is not dict:
            raise NotAStreamError("a chunk of the stream is not an object")
        self._found = True
        self._begin_anew()
        return chunk

    def _begin_anew(self) -> None:
        self._begun.clear()
        self._begun_held = self._decoded = 0

    def _odd(self, told: bytes) -> Any:
        """What is no JSON to msgspec: nothing at all, the end, half of a character in UTF-16, NaN; or half of it."""
        word = told.strip()
        if not word or word == b"[DONE]":
            self.done = bool(word)
            self._begin_anew()
            return None
        try:
            return json.loads(told)
        except (ValueError, RecursionError):
            return None

    def _aside(self, line: bytes) -> list[Json]:
        """What an empty line, or one that is none of the stream's, is the end of."""
        if line:
            if not self._found and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                self._other += line
                self._other += b"\n"
                if len(self._other) > LONGEST:
                    raise NotAStreamError(TOO_LONG)
        elif self._begun:
            chunk = self._decoded_lines() if self._undecoded else None
            if chunk is None:
                raise NotAStreamError("a chunk of the stream is not JSON")
            return self._progress.take(chunk)
        return []


def apart(chunk: Json, *, begun: bool) -> list[Json]:
    """A chunk that reports an error beside `choices`, as two: what it says, and the error.

    Counts alone are left out where the answer has not `begun`: an error can then still be told by its HTTP status.
    """
    error, choices = {"error": chunk["error"]}, chunk["choices"]
    said: Json = {"choices": []}
    if isinstance(choices, list) and isinstance(choices[0], dict) and (_words(choices[0]) or (begun and choices[0])):
        said["choices"] = [{key: value for key, value in choices[0].items() if key != "finish_reason"}]
    if begun or said["choices"]:
        said |= {key: chunk[key] for key in _BESIDE if chunk.get(key)}
    return [said, error] if said != {"choices": []} else [error]


def _words(choice: Json) -> bool:
    """Whether this choice says anything of the answer. Snowflake sends a `function_call` of empty strings beside it."""
    delta = choice.get("delta") or choice.get("message")
    if not isinstance(delta, dict):
        return False
    return any(_holds_words(key, value) for key, value in delta.items() if key not in _NO_WORDS)


def _holds_words(key: str, value: Any) -> bool:
    names = _HOLD_WORDS.get(key)
    if names is None or not isinstance(value, list | dict):
        return any(value.values()) if isinstance(value, dict) else bool(value)
    pieces = value if isinstance(value, list) else [value]
    return any(_holds_words(name, piece.get(name)) for piece in pieces if isinstance(piece, dict) for name in names)


def _counts(usage: Any) -> bool:
    """Whether this usage holds any count."""
    counts = usage.values() if isinstance(usage, dict) else ()
    return any(type(count) is int and count > 0 for count in counts)


def _old_error(line: bytes) -> Json | None:
    """The error in such a line, as the chunk that newer servers send. None where it is something else."""
    try:
        error = json.loads(line[6:])
    except (ValueError, RecursionError):
        return None
    return {"error": error} if isinstance(error, dict) and error else None


def whole(body: bytes) -> Json:
    """An answer that was not streamed although we asked for it, as the one chunk it amounts to."""
    _refuse_dense(body)
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAStreamError(NO_STREAM) from error
    if isinstance(told, dict) and not told.get("choices") and (told.get("error") or told.get("object") == "error"):
        return told
    try:
        choice = told["choices"][0]
        delta = dict(choice["message"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NotAStreamError("the answer is no chat completion") from error
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [{"index": seat, **call} for seat, call in enumerate(calls) if isinstance(call, dict)]
    said = {"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason") or UNSTATED}
    if choice.get("logprobs"):
        said["logprobs"] = choice["logprobs"]
    return {"choices": [said]} | {key: told[key] for key in (*_BESIDE, "error") if told.get(key)}


def _refuse_dense(written: bytes) -> None:
    if len(written) > MOST_VALUES and holds_more_values(written, MOST_VALUES):
        raise NotAStreamError(TOO_MANY_VALUES)
