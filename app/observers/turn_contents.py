"""What the list of turns, and the search for the turn before, need of a request and of an answer."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ..json_text import json_bytes, json_value
from ..protocol.events import LastEvent, RelayedLast
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.plain_messages import as_items
from ..protocol.request.summaries import SUMMARY_TYPES
from ..protocol.response import Usage
from .first_words import answered_in, called_in, said_in
from .item_digest import item_digest
from .redaction import redacted_json
from .shared_parts import LEAST, Piece, SharedPart, SharedParts, joined, pieces_of

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode
"""Encodes a prompt. What has no JSON of its own is shown as text."""


class AskedContents(NamedTuple):
    """A request, and what its upstream is asked."""

    pieces: list[Piece]
    items: list[bytes]
    """The digests of its input."""
    said: str
    parts_of_request: int = 0
    """How many of the shared parts are of the request: the first ones."""


class AnswerContents(NamedTuple):
    """An answer."""

    words: str
    calls: list[str]
    items: list[bytes]
    summaries: list[bytes]


def asked_contents(
    request: CreateResponse, ask: Any, prompt: msgspec.Struct | None, more: dict[str, Any], parts: SharedParts
) -> AskedContents:
    """What a note shows of a request and what its upstream is asked, of the prompt in no dialect, and `more`."""
    sent = pieces_of(request.raw, parts)
    items = _items_of(request.raw, sent)
    shown = [] if prompt is None else [b',"prompt":', *_prompt_pieces(prompt, parts)]
    rest = redacted_json(json_bytes(more))
    pieces = [b'{"request":', *sent, b',"ask":', *pieces_of(ask, parts), *shown, b"," + rest[1:]]
    return AskedContents(joined(pieces), items, said_in(request.raw), _parts_in(sent))


def requested_contents(raw: dict[str, Any], too_long: int, parts: SharedParts) -> AskedContents:
    """The same for a request for which no upstream was asked. Of one that is `too_long`, its bytes are shown."""
    if too_long:
        return AskedContents([json_bytes({"request": {"left_out": f"… ({too_long} bytes)"}})], [], "")
    sent = pieces_of(raw, parts)
    return AskedContents(joined([b'{"request":', *sent, b"}"]), _items_of(raw, sent), said_in(raw), _parts_in(sent))


def _parts_in(pieces: list[Piece]) -> int:
    return sum(isinstance(each, SharedPart) for each in pieces)


def _items_of(raw: dict[str, Any], pieces: list[Piece]) -> list[bytes]:
    """The digests of the items in its input."""
    if isinstance(raw.get("input"), str):
        return [item_digest(item) for item in as_items(raw["input"])]
    return [each.item for each in pieces if isinstance(each, SharedPart) and each.item is not None]


def _prompt_pieces(prompt: msgspec.Struct, parts: SharedParts) -> list[Piece]:
    """The JSON of a prompt. Of the conversation each entry is a part, with its kind, which is its class."""
    members = msgspec.structs.asdict(prompt)
    pieces: list[Piece] = [b'{"entries":[']
    for index, entry in enumerate(members.pop("entries")):
        kind = json_bytes({"kind": type(entry).__name__})
        rest = _json_of(entry)
        raw = kind if rest == b"{}" else kind[:-1] + b"," + rest[1:]
        pieces += [b"," if index else b"", parts.made("entries", raw)]
    for name, value in members.items():
        raw = _json_of(value)
        pieces += [b"]," if name == next(iter(members)) else b",", json_bytes(name), b":"]
        pieces.append(redacted_json(raw, name) if len(raw) < LEAST else parts.made(name, raw))
    return [*pieces, b"}"]


def _json_of(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a character
        return json_bytes(msgspec.to_builtins(value, enc_hook=str))


def answer_contents(last: LastEvent | RelayedLast) -> AnswerContents:
    """What the last event says about an answer."""
    output = _output_of(last)
    digests = [item_digest(item) for item in output]
    kinds = [item.get("type") if isinstance(item, dict) else None for item in output]
    is_summary = [isinstance(kind, str) and kind in SUMMARY_TYPES for kind in kinds]
    summaries = [each for each, found in zip(digests, is_summary, strict=True) if found]
    return AnswerContents(answered_in(output), called_in(output), digests, summaries)


class _Output(msgspec.Struct):
    output: msgspec.Raw = msgspec.Raw(b"[]")


def _output_of(last: LastEvent | RelayedLast) -> list[Any]:
    if isinstance(last, LastEvent):
        output = msgspec.to_builtins(last.response.output)
    else:
        try:
            output = json_value(bytes(msgspec.json.decode(last.body, type=_Output).output))
        except msgspec.DecodeError:
            output = json_value(last.body).get("output")
    return output if isinstance(output, list) else []


def cost_of(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a turn with this log line cost, as an estimate."""
    if "cost_estimate" not in fields:
        return None
    return {"amount": fields["cost_estimate"], "currency": "USD", "source": fields["cost_source"]}


def tokens_of(usage: Usage) -> dict[str, int]:
    """The tokens of a turn."""
    read, written = usage.input_tokens_details, usage.output_tokens_details
    return {
        "input": usage.input_tokens,
        "cached": read.cached_tokens,
        "written": read.cache_write_tokens,
        "output": usage.output_tokens,
        "reasoning": written.reasoning_tokens,
    }
