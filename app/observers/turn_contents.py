"""What the list of turns, and the search for the turn before, need of a request and of an answer."""

from typing import Any, NamedTuple

import msgspec

from ..json_text import json_value
from ..protocol.events import LastEvent, RelayedLast
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.plain_messages import as_items
from ..protocol.request.summaries import SUMMARY_TYPES
from ..protocol.response import Usage
from .first_words import answered_in, called_in, said_in
from .item_digest import item_digest
from .shared_parts import Piece, SharedPart, SharedParts, pieces_of


class AskedContents(NamedTuple):
    """A request, and what its upstream is asked."""

    pieces: list[Piece]
    items: list[bytes]
    """The digests of its input."""
    said: str


class AnswerContents(NamedTuple):
    """An answer."""

    words: str
    calls: list[str]
    items: list[bytes]
    summaries: list[bytes]


def asked_contents(request: CreateResponse, shown: dict[str, Any], parts: SharedParts) -> AskedContents:
    """What a note shows of a request and what its upstream is asked: `shown` has both."""
    sent = pieces_of(shown.pop("request"), parts)
    items = [each.item for each in sent if isinstance(each, SharedPart) and each.item is not None]
    if isinstance(request.raw.get("input"), str):
        items = [item_digest(item) for item in as_items(request.raw["input"])]
    rest = pieces_of(shown, parts)
    rest[0] = b"," + rest[0][1:] if isinstance(rest[0], bytes) else rest[0]
    return AskedContents([b'{"request":', *sent, *rest], items, said_in(request.raw))


def answer_contents(last: LastEvent | RelayedLast) -> AnswerContents:
    """What the last event says about an answer."""
    output = _output_of(last)
    digests = [item_digest(item) for item in output]
    kinds = [item.get("type") if isinstance(item, dict) else None for item in output]
    summaries = [each for each, kind in zip(digests, kinds, strict=True) if kind in SUMMARY_TYPES]
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
