"""An emitter alone: counted ids, a fixed clock, function tools only, and plain dicts out."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import msgspec

from app.emitter.deltas import CallArguments, CallOpened, Delta, Stopped, UsageReported
from app.emitter.emitter import Emitter
from app.emitter.open_items import ItemPosition, OpenCall, OpenFunctionCall
from app.emitter.open_reasoning import Seal, StatePiece
from app.protocol.events import Event
from app.protocol.response import Response, Usage
from app.protocol.seals import Kind

CREATED_AT = 1_700_000_000
COMPLETED_AT = 1_700_000_005
FORBIDDEN = "forbidden"
"""A tool the client ruled out."""


class ReadableSealer:
    """A sealer whose envelopes anybody can read, for tests that compare them."""

    def seal(self, kind: Kind, content: dict[str, Any]) -> str:
        """The kind and the content."""
        return f"{kind} {msgspec.json.encode(content).decode()}"

    def open(self, kind: Kind, envelope: str, path: str) -> dict[str, Any] | None:  # noqa: ARG002 — nothing is bounded
        """The content, if it was written here."""
        book, _, content = envelope.partition(" ")
        return msgspec.json.decode(content, type=dict[str, Any]) if book == kind else None

    def fresh(self) -> "ReadableSealer":
        """The same: nothing is counted."""
        return self

    def for_owner(self, owner: str, *, alone: bool) -> "ReadableSealer":  # noqa: ARG002 — anybody reads it
        """The same for everybody."""
        return self


class FunctionsOnly:
    """The tools of a turn that has functions only."""

    def allows(self, name: str) -> bool:
        """All but one."""
        return name != FORBIDDEN

    def item_prefix(self, name: str) -> str:  # noqa: ARG002 — every tool here is a function
        """That of a function call."""
        return "fc"

    def open_call(self, name: str, call_id: str, position: ItemPosition) -> OpenCall:
        """A function call."""
        return OpenFunctionCall(position, name, call_id)


def counted_ids() -> Callable[[str], str]:
    """Ids that can be read: `msg_AM-1`, `call_AM-2`, one count for all."""
    numbers = count(1)
    return lambda prefix: f"{prefix}_AM-{next(numbers)}"


def written(text: str, kept: list[StatePiece]) -> str:
    """A seal that shows what it seals."""
    return " ".join([repr(text), *[f"{piece.call_id}:{piece.fields}" for piece in kept]])


def new_emitter(*, raw_reasoning: bool = False, for_codex: bool = False, seal: Seal | None = None) -> Emitter:
    """An emitter that has not begun."""
    return Emitter(
        Response(id="resp_AM-1", created_at=CREATED_AT, model="demo"),
        tools=FunctionsOnly(),
        new_id=counted_ids(),
        now=lambda: COMPLETED_AT,
        raw_reasoning=raw_reasoning,
        for_codex=for_codex,
        seal=seal,
    )


def plain(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events as a client reads them."""
    return [msgspec.json.decode(msgspec.json.encode(event)) for event in events]


def played(*deltas: Delta, raw_reasoning: bool = False, seal: Seal | None = None) -> list[dict[str, Any]]:
    """The whole stream of a model that says this and then falls silent."""
    emitter = new_emitter(raw_reasoning=raw_reasoning, seal=seal)
    events = [*emitter.begin(), *emitter.feed(deltas)]
    if not emitter.over:
        events += emitter.end()
    return plain(events)


USAGE = Usage(input_tokens=7, output_tokens=5, total_tokens=12)
COUNTED = UsageReported(USAGE)
END = Stopped("end")
LENGTH = Stopped("length")
FILTERED = Stopped("content_filter")


def calls(key: int, name: str, *arguments: str, call_id: str = "") -> list[Delta]:
    """A call and its arguments, piece by piece."""
    return [CallOpened(key, name, call_id), *[CallArguments(key, text) for text in arguments]]
