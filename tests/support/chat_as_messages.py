"""The answer of a chat server, as a server of the Messages API sends the same answer: blocks instead of chunks.

Only content is translated. What is peculiar to chunks, such as calls that are not numbered, has no counterpart and
raises `NoCounterpartError`.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

from tests.wire.servers import Cut, End, Step
from tests.wire.servers.anthropic import ends

Json = dict[str, Any]

REASONS: Final = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
ERRORS: Final = {429: "rate_limit_error", 500: "api_error", 503: "api_error"}
"""Status -> what Anthropic calls such an error; others are faults of the request."""
SIGNATURE: Final = "c2ln"


class NoCounterpartError(Exception):
    """Something that a server of the Messages API cannot send."""


class Piece(NamedTuple):
    """More of one block, and how that block begins."""

    key: object
    block: Json
    delta: Json | None


class MessagesAnswer(NamedTuple):
    """What the server does, and before which of its events it is silent for a while."""

    steps: list[Step]
    silences: list[int]


def messages_answer(chunks: list[Any]) -> MessagesAnswer:
    """The same answer of a server of the Messages API."""
    return _Translator(chunks).answer()


class _Translator:
    def __init__(self, chunks: list[Any]) -> None:
        self._pieces: list[Piece | None] = []
        """None is a silence."""
        self._breaks: list[Step] = []
        self._reason: str | None = None
        self._explanation = ""
        self._usage: Json = {}
        self._calls: dict[int, Json] = {}
        for chunk in chunks:
            if not self._breaks:
                self._read(chunk)

    def answer(self) -> MessagesAnswer:
        """The steps of the server."""
        events, silences = list[Json](), list[int]()
        indices: dict[object, int] = {}
        pieces = [*self._pieces]
        read, wrote = _usage(self._usage)
        events.append(_begin({**read, **({"output_tokens": 0} if self._reason else wrote)}))
        for place, piece in enumerate(pieces):
            if piece is None:
                silences.append(len(events))
                continue
            if piece.key not in indices:
                indices[piece.key] = len(indices)
                events.append(_of("content_block_start", indices[piece.key], content_block=piece.block))
            if piece.delta is not None:
                events.append(_of("content_block_delta", indices[piece.key], delta=piece.delta))
            later = [other for other in pieces[place + 1 :] if other is not None]
            if (later or self._reason) and all(other.key != piece.key for other in later):
                events += _end(piece, indices[piece.key])
        if self._reason is None:
            return MessagesAnswer([*events, *(self._breaks or [End()])], silences)
        stop, over = ends(self._reason, **wrote)
        if self._explanation:
            stop["delta"]["stop_details"] = {"type": "refusal", "explanation": self._explanation, "category": None}
        return MessagesAnswer([*events, stop, over], silences)

    def _read(self, chunk: Any) -> None:
        match chunk:
            case {"silence": True}:
                self._pieces.append(None)
            case {"broke": _}:
                self._breaks.append(Cut())
            case {"error": {"message": str(message), "code": code}}:
                kind = ERRORS.get(code, "invalid_request_error")
                if code == "context_length_exceeded":
                    message = "prompt is too long: 9 tokens > 8 maximum"
                self._breaks.append({"type": "error", "error": {"type": kind, "message": message}})
            case {"choices": [], "usage": usage}:
                self._usage = usage
            case {"choices": [{"index": 0, "delta": dict(delta), "finish_reason": reason, **other}]} if not other:
                self._usage = chunk.get("usage") or self._usage
                self._delta(delta)
                if reason is not None:
                    self._stop(reason)
            case _:
                _refuse(chunk)

    def _stop(self, reason: str) -> None:
        if self._reason is not None or reason not in REASONS:
            _refuse(reason)
        if self._explanation and reason != "content_filter":
            _refuse("a refusal that ends regularly")
        self._reason = REASONS[reason]

    def _delta(self, delta: Json) -> None:
        known = {"role", "content", "reasoning", "reasoning_content", "thinking_blocks", "refusal", "tool_calls"}
        if delta.keys() - known - {"annotations"} or (self._reason is not None and any(delta.values())):
            _refuse(delta)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        for block in delta.get("thinking_blocks") or ([{"type": "thinking", "thinking": thought}] if thought else []):
            self._thought(block)
        if text := delta.get("content"):
            if not isinstance(text, str):
                _refuse(text)
            self._add_to_run({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
        for annotation in delta.get("annotations") or ():
            cited = {"type": "citations_delta", "citation": self._cited(annotation)}
            self._add_to_run({"type": "text", "text": ""}, cited)
        self._explanation += delta.get("refusal") or ""
        for fragment in delta.get("tool_calls") or ():
            self._call(fragment)

    def _thought(self, block: Json) -> None:
        if block["type"] == "redacted_thinking":
            self._pieces.append(Piece(len(self._pieces), block, None))
            return
        start = {"type": "thinking", "thinking": "", "signature": ""}
        for field, kind in (("thinking", "thinking_delta"), ("signature", "signature_delta")):
            if block.get(field):
                self._add_to_run(start, {"type": kind, field: block[field]})

    def _add_to_run(self, start: Json, delta: Json) -> None:
        """Adds to the block of this type that is open, or to a new one, if another block was written in between."""
        last = next((piece for piece in reversed(self._pieces) if piece is not None), None)
        if last is not None and last.block["type"] == start["type"]:
            self._pieces.append(last._replace(delta=delta))
        else:
            self._pieces.append(Piece(len(self._pieces), start, delta))

    def _cited(self, annotation: Json) -> Json:
        """A citation. In the Messages API it is about the whole block."""
        page = annotation["url_citation"]
        text = "".join([(piece.delta or {}).get("text", "") for piece in self._pieces if piece is not None])
        if (page.get("start_index"), page.get("end_index")) != (0, len(text)):
            _refuse(annotation)
        found = {"type": "web_search_result_location", "url": page["url"], "title": page["title"]}
        return {**found, "cited_text": text, "encrypted_index": "x"}

    def _call(self, fragment: Json) -> None:
        match fragment:
            case {"index": int(index), "function": dict(function), **other} if not other.keys() - {"id", "type"}:
                pass
            case _:
                _refuse(fragment)
        arguments = function.get("arguments")
        if index not in self._calls:
            self._calls[index] = {
                "type": "tool_use",
                "id": fragment.get("id") or "",
                "name": function.get("name") or "",
                "input": arguments if isinstance(arguments, dict) else {},
            }
        elif (fragment.get("id") or self._calls[index]["id"]) != self._calls[index]["id"]:
            _refuse("another id for the same call")
        block = self._calls[index]
        delta = {"type": "input_json_delta", "partial_json": arguments}
        more = delta if arguments and isinstance(arguments, str) else None
        self._pieces.append(Piece(("call", index), block, more))


def _begin(usage: Json) -> Json:
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}


def _of(kind: str, index: int, **fields: Json) -> Json:
    return {"type": kind, "index": index, **fields}


def _end(piece: Piece, index: int) -> Iterator[Json]:
    """The end of a block. A thought without a signature gets one: the server signs every thought."""
    if piece.block["type"] == "thinking" and (piece.delta or {}).get("type") != "signature_delta":
        yield _of("content_block_delta", index, delta={"type": "signature_delta", "signature": SIGNATURE})
    yield _of("content_block_stop", index)


def _usage(counted: Json) -> tuple[Json, Json]:
    """What was read and what was written. The tokens of the cache are counted beside the others."""
    inputs, outputs = counted.get("prompt_tokens_details") or {}, counted.get("completion_tokens_details") or {}
    cached, written = inputs.get("cached_tokens", 0), inputs.get("cache_write_tokens", 0)
    read = {
        "input_tokens": counted.get("prompt_tokens", 0) - cached - written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }
    wrote: Json = {"output_tokens": counted.get("completion_tokens", 0)}
    if "reasoning_tokens" in outputs:
        wrote["output_tokens_details"] = {"thinking_tokens": outputs["reasoning_tokens"]}
    return read, wrote


def _refuse(what: object) -> NoReturn:
    raise NoCounterpartError(what)
