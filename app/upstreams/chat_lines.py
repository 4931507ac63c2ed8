"""The bytes of a chat server's answer -> chunk dicts.

The standard ends an event at an empty line, but not every chat server sends one, so waiting for it could delay each
chunk until the next. A `data:` line that is JSON by itself is therefore a chunk at once; one that is not is the
beginning of a chunk of several lines. A whole answer that is sent although a stream was requested is read as one chunk.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from ..json_text import holds_more_values
from .sse_lines import LONGEST, MOST_VALUES, TOO_MANY_VALUES, SseLines, TooLongError

Json = dict[str, Any]

NO_STREAM: Final = "the answer is neither a stream nor JSON"
TOO_LONG: Final = "a line of the stream is too long"
_MOST_LINES: Final = 1000
"""Data lines of one chunk."""
_TRIED: Final = 64 * 1024
"""Bytes up to which a chunk of several lines is decoded after each line; a longer one only at its empty line."""
_TRIES: Final = 4
"""How often the bytes of a chunk are decoded before its empty line, in addition to `_TRIED` bytes."""

_OTHER_KEYS: Final = ("usage", "timings", "citations", "search_results")
"""The keys of an answer, other than `choices`, that are read."""

UNSTATED: Final = "unstated"
"""The finish reason of a complete answer whose server sent none. The reader of chunks knows it."""
_OLD_ERROR: Final = b"error:"
"""How older llama.cpp servers begin the line of an error inside a stream."""
_NO_CONTENT: Final = frozenset({"annotations", "extra_content", "provider_specific_fields", "role"})
"""Keys of a delta that add no content to the answer."""
_CONTENT_KEYS: Final = {
    "audio": ("data", "transcript"),
    "content": ("image_url", "text", "thinking"),
    "images": ("image_url",),
    "reasoning_details": ("summary", "text"),
    "thinking": ("text",),
    "thinking_blocks": ("thinking",),
}
"""For an object or list of objects under these keys: its keys with content. Its other keys name, number or sign it."""

_decode: Final = msgspec.json.Decoder().decode


class NotAStreamError(Exception):
    """The upstream's answer cannot be read as a stream of chunks."""


class Progress:
    """The progress of an answer: whether it has started, and whether it is complete without a finish reason.

    Some servers (Snowflake's Claude, some behind OpenRouter) never send a finish reason. After the last content they
    send a chunk with only the usage, and then `[DONE]`. Chunks without content may come between. A server that was cut
    off in the middle of an answer sends no usage after its last content.
    """

    def __init__(self) -> None:
        self._begun = False
        self._named = False
        self._counted = False

    def take(self, chunk: Json) -> list[Json]:
        """One more chunk, as it is to be read: an error in the same chunk as content is moved after the content."""
        if error := chunk.get("error"):
            if isinstance(error, dict) and not any(error.values()):
                chunk = {key: value for key, value in chunk.items() if key != "error"}
            elif chunk.get("choices"):
                return split_error(chunk, begun=self._begun)
        self._begun = True
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        if choice.get("finish_reason"):
            self._named = True
        usage = chunk.get("usage")
        if self._counted:
            self._counted = not _has_content(choice)
        elif usage:  # most chunks have none, and their content makes no difference then
            self._counted = _counts(usage) and not _has_content(choice)
        return [chunk]

    def at_done(self) -> list[Json]:
        """What to add after `[DONE]`."""
        over = self._counted and not self._named
        return [{"choices": [{"index": 0, "delta": {}, "finish_reason": UNSTATED}]}] if over else []


class ChatLines:
    """Reads one answer."""

    def __init__(self) -> None:
        self._lines = SseLines(LONGEST)
        self._pending: list[bytes] = []
        """Data lines that are not JSON yet."""
        self._pending_bytes = self._decoded = 0
        """How many bytes they hold, and how many were decoded without success."""
        self._undecoded = False
        """Whether the last of them was not tried."""
        self._other = bytearray()
        """Lines that do not belong to a stream: the body, if this is no stream."""
        self._found = False
        self._progress = Progress()
        self.done = False
        """The server sent `[DONE]`: nothing after it is read."""

    def read(self, data: bytes) -> Iterable[Json]:
        """The chunks that end in this piece. Raises `NotAStreamError` after the last valid one."""
        if not self._pending and not self.done and (only := self._lines.only_data(data)) is not None:
            chunk = None if len(only) > MOST_VALUES else self._short(only)
            if chunk is not None:
                return self._progress.take(chunk)
        try:
            lines = self._lines.feed(data)
        except TooLongError:
            raise NotAStreamError(TOO_LONG) from None
        return self._read_lines(lines)

    def end(self) -> Iterator[Json]:
        """The chunks that are left when no more bytes come."""
        yield from self._read_lines([self._lines.rest(), b""])
        if self._other and not self._found and not self.done:
            yield from self._progress.take(whole(bytes(self._other)))

    def _read_lines(self, lines: list[bytes]) -> Iterator[Json]:
        for line in lines:
            if self.done:
                return
            if line[:5] == b"data:":
                yield from self._chunks(line[5:])
            elif line[:6] == _OLD_ERROR and (error := _old_error(line)) is not None:
                self._found = True
                yield error
            else:
                yield from self._other_line(line)

    def _chunks(self, data: bytes) -> list[Json]:
        """The chunk of this data line, if it is complete together with the lines before it."""
        chunk = None if self._pending or len(data) > MOST_VALUES else self._short(data)
        if chunk is None:
            chunk = self._chunk(data)
        if chunk is not None:
            return self._progress.take(chunk)
        return self._progress.at_done() if self.done else []

    def _short(self, data: bytes) -> Json | None:
        """The chunk, if this line is one by itself, as nearly all are; None if a closer look is needed."""
        try:
            chunk = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if type(chunk) is not dict:
            return None
        self._found = True
        return chunk

    def _chunk(self, data: bytes) -> Json | None:
        self._pending.append(data)
        self._pending_bytes += len(data) + 1
        if self._pending_bytes > LONGEST or len(self._pending) > _MOST_LINES:
            raise NotAStreamError(TOO_LONG)
        self._undecoded = len(self._pending) > 1 and (
            self._pending_bytes > _TRIED or self._decoded > _TRIED + _TRIES * self._pending_bytes
        )
        return None if self._undecoded else self._decoded_lines()

    def _decoded_lines(self) -> Json | None:
        """The chunk in the data lines; None if they are not JSON (yet)."""
        data = self._pending[0] if len(self._pending) == 1 else b"\n".join(self._pending)
        self._decoded += len(data)
        self._undecoded = False
        _refuse_dense(data)
        try:
            chunk = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
            chunk = self._odd(data)
            if chunk is None:
                return None
        if type(chunk) is not dict:
            raise NotAStreamError("a chunk of the stream is not an object")
        self._found = True
        self._reset()
        return chunk

    def _reset(self) -> None:
        self._pending.clear()
        self._pending_bytes = self._decoded = 0

    def _odd(self, data: bytes) -> Any:
        """Data that msgspec does not decode: nothing, the end, half of a UTF-16 character, NaN, or incomplete JSON."""
        word = data.strip()
        if not word or word == b"[DONE]":
            self.done = bool(word)
            self._reset()
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None

    def _other_line(self, line: bytes) -> list[Json]:
        """The chunk that ends at this empty line. A line that is not part of a stream is kept as part of a body."""
        if line:
            if not self._found and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                self._other += line
                self._other += b"\n"
                if len(self._other) > LONGEST:
                    raise NotAStreamError(TOO_LONG)
        elif self._pending:
            chunk = self._decoded_lines() if self._undecoded else None
            if chunk is None:
                raise NotAStreamError("a chunk of the stream is not JSON")
            return self._progress.take(chunk)
        return []


def split_error(chunk: Json, *, begun: bool) -> list[Json]:
    """A chunk that has an error in addition to `choices`, split into two: its content, and the error.

    Usage alone is left out if the answer has not `begun`: the error can then still be an HTTP status.
    """
    error, choices = {"error": chunk["error"]}, chunk["choices"]
    content: Json = {"choices": []}
    if (
        isinstance(choices, list)
        and isinstance(choices[0], dict)
        and (_has_content(choices[0]) or (begun and choices[0]))
    ):
        content["choices"] = [{key: value for key, value in choices[0].items() if key != "finish_reason"}]
    if begun or content["choices"]:
        content |= {key: chunk[key] for key in _OTHER_KEYS if chunk.get(key)}
    return [content, error] if content != {"choices": []} else [error]


def _has_content(choice: Json) -> bool:
    """Whether this choice has any content. Snowflake also sends a `function_call` of empty strings."""
    delta = choice.get("delta") or choice.get("message")
    if not isinstance(delta, dict):
        return False
    return any(_holds_content(key, value) for key, value in delta.items() if key not in _NO_CONTENT)


def _holds_content(key: str, value: Any) -> bool:
    names = _CONTENT_KEYS.get(key)
    if names is None or not isinstance(value, list | dict):
        return any(value.values()) if isinstance(value, dict) else bool(value)
    pieces = value if isinstance(value, list) else [value]
    return any(_holds_content(name, piece.get(name)) for piece in pieces if isinstance(piece, dict) for name in names)


def _counts(usage: Any) -> bool:
    """Whether this usage holds any count."""
    counts = usage.values() if isinstance(usage, dict) else ()
    return any(type(count) is int and count > 0 for count in counts)


def _old_error(line: bytes) -> Json | None:
    """The error in such a line, as the chunk that newer servers send; None if the line is something else."""
    try:
        error = json.loads(line[6:])
    except (ValueError, RecursionError):
        return None
    return {"error": error} if isinstance(error, dict) and error else None


def whole(body: bytes) -> Json:
    """An answer that was not streamed although a stream was requested, as one chunk."""
    _refuse_dense(body)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAStreamError(NO_STREAM) from error
    if (
        isinstance(answer, dict)
        and not answer.get("choices")
        and (answer.get("error") or answer.get("object") == "error")
    ):
        return answer
    try:
        choice = answer["choices"][0]
        delta = dict(choice["message"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NotAStreamError("the answer is no chat completion") from error
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls) if isinstance(call, dict)]
    only = {"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason") or UNSTATED}
    if choice.get("logprobs"):
        only["logprobs"] = choice["logprobs"]
    return {"choices": [only]} | {key: answer[key] for key in (*_OTHER_KEYS, "error") if answer.get(key)}


def _refuse_dense(written: bytes) -> None:
    if len(written) > MOST_VALUES and holds_more_values(written, MOST_VALUES):
        raise NotAStreamError(TOO_MANY_VALUES)
