"""A turn as the inspector shows it: put together from its notes when someone looks at it. Runs in a thread."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from ..json_text import json_bytes, json_value
from ..upstreams.taps import Shape
from .conversations import TurnPlace
from .kept_notes import Batch, Kept, KeptMessage
from .prompt_changes import LIST, changes, items_of
from .recorded_ask import AskTimes, MadeRequests, Outcome
from .recorded_turn import Recorded
from .shared_parts import Piece
from .timeline import timeline

Json = dict[str, Any]
Members = dict[str, Raw]
OBJECT: Final = msgspec.json.Decoder(Members)
_FIRST: Final = b"{"
_NO_ITEM: Final = sys.maxsize
_REQUESTS: Final = frozenset({"asked", "requested"})
"""Notes with the request."""
_LAST: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})


class ShownAsk(NamedTuple):
    """One request to an upstream at one moment."""

    times: AskTimes
    outcome: Outcome
    made: MadeRequests


class Snapshot(NamedTuple):
    """What is kept of a turn at one moment. Its notes do not change."""

    number: int
    id: str
    row: Json
    fields: Json
    notes: Sequence[Kept]
    asks: Sequence[ShownAsk]
    steps: dict[str, float]
    place: TurnPlace | None
    left_out: int
    size: int

    @property
    def request(self) -> Members:
        """The members of the request; none if it is not kept."""
        return self.request_from(0)

    def request_from(self, item: int) -> Members:
        """The same with zeros in place of the items before this one, which makes it short."""
        for note in self.notes:
            if isinstance(note, KeptMessage) and note.name in _REQUESTS:
                request = OBJECT.decode(note.with_request(item)).get("request")
                return {} if request is None else OBJECT.decode(request)
        return {}

    @property
    def response(self) -> Raw | None:
        """The response in the last event, if that is kept."""
        for note in reversed(self.notes):
            if isinstance(note, Batch):
                event = OBJECT.decode(note.shown_events()[-1])
                return event.get("response") if json_value(event.get("type", b'""')) in _LAST else None
        return None


Before = Mapping[int, Snapshot]
"""The turns that others continue, by their numbers, as far as they are kept."""


def snapshot(turn: Recorded) -> Snapshot:
    """What is kept of a turn now. Call it on the event loop."""
    asks = [ShownAsk(ask.times, ask.outcome, ask.made) for ask in turn.asks]
    notes = tuple(turn.notes)
    return Snapshot(
        turn.number, turn.id, turn.row(), turn.fields, notes, asks, turn.steps, turn.place,
        turn.left_out, turn.size,
    )  # fmt: skip


def snapshots(turns: Iterable[Recorded]) -> Before:
    """The same of several turns by their numbers."""
    return {turn.number: snapshot(turn) for turn in turns}


def shown_turn(turn: Snapshot, before: Before) -> bytes:
    """All about one turn, as JSON."""
    events: list[Json] = []
    refused: Json | None = None
    for note in turn.notes:
        if isinstance(note, Batch):
            events += [{"at": note.at, "event": Raw(event)} for event in note.shown_events()]
        elif note.name == "refused":
            members = OBJECT.decode(note.shown(_FIRST))
            refused = {name: members[name] for name in ("status", "error")}
    request = turn.request
    return json_bytes(
        {
            "row": turn.row,
            "request": request or None,
            "asks": shown_asks(turn),
            "events": events,
            "events_left_out": turn.left_out,
            "refused": refused,
            "response": turn.response,
            "fields": turn.fields,
            "timeline": [
                phase.shown for phase in timeline(turn.steps, [ask.times for ask in turn.asks], turn.row["total_ms"])
            ],
            "changes": _changes(turn, request, before),
        }
    )


def shown_session(session: int, turns: Sequence[Snapshot], before: Before) -> bytes:
    """A conversation, with only what is new in each turn, as JSON."""
    shown: list[Json] = []
    for turn in turns:
        request = turn.request_from(0 if turn.place is None else turn.place.new_from)
        changed = _changes(turn, request, before)
        new_from = 0 if changed is None else changed["new_items"][0]
        is_new = changed is None or changed["instructions"] in {"added", "changed"}
        response = turn.response
        shown.append(
            {
                "row": turn.row,
                "changes": changed,
                "instructions": request.get("instructions") if is_new else None,
                "new": items_of(request)[new_from:],
                "output": [] if response is None else LIST.decode(OBJECT.decode(response).get("output", b"[]")),
            }
        )
    return json_bytes({"session": session, "turns": shown})


def numbers_with(text: str, turns: Mapping[int, Sequence[Kept]]) -> list[int]:
    """The numbers of the turns in whose notes this text occurs, in whatever case. Deltas are looked at one by one."""
    forms = _forms_of(text)
    known: dict[bytes, bool] = {}
    """By the digests of parts, which many turns share."""

    def occurs(piece: Piece) -> bool:
        if isinstance(piece, bytes):
            return any(form in piece.lower() for form in forms)
        if piece.digest not in known:
            data = piece.data.lower()
            known[piece.digest] = any(form in data for form in forms)
        return known[piece.digest]

    def is_in(note: Kept) -> bool:
        if not isinstance(note, Batch):
            return any(map(occurs, note.pieces))
        return any(occurs(event) if isinstance(event, bytes) else any(map(occurs, event)) for event in note.events)

    return [number for number, notes in turns.items() if any(map(is_in, notes))]


def _forms_of(text: str) -> set[bytes]:
    """A text in JSON, and in JSON that is itself a text in JSON, as the arguments of a call are."""
    once = json_bytes(text)[1:-1].lower()
    inside = [once, json.dumps(text)[1:-1].lower().encode()]  # a client may write only ASCII
    return {once, *(json_bytes(each.decode())[1:-1] for each in inside)}


def _changes(turn: Snapshot, request: Members, kept: Before) -> Json | None:
    before = None if turn.place is None or turn.place.since is None else kept.get(turn.place.since)
    if turn.place is None or before is None:
        return None
    new_from = turn.place.new_from or None
    return {
        "since": turn.place.since,
        "since_id": before.id,
        "is_continued": turn.place.is_continued,
        **changes(request, before.request_from(0 if new_from is None else _NO_ITEM), new_from),
    }


def shown_asks(turn: Snapshot) -> list[Json]:
    """The requests to upstreams, some parts of them as JSON text."""
    asks: list[Json] = []
    for note in turn.notes:
        if note.name == "asked":
            asks.append(_ask(turn, OBJECT.decode(note.shown(_FIRST))))
        elif note.name == "failed" and asks:
            asks[-1]["error"] = OBJECT.decode(note.shown(_FIRST))["error"]
    return asks


def _ask(turn: Snapshot, members: Members) -> Json:
    number = json_value(members["ask_number"])
    kept = turn.asks[number - 1]
    made = kept.made
    return {
        "number": number,
        "upstream": members["upstream"],
        "model": OBJECT.decode(members["ask"]).get("model", ""),
        "body": posted(members["ask"], made.tries[-1].shape if made.tries else None),
        "prompt": members.get("prompt"),
        "warnings": members["warnings"],
        "goes_on": "goes_on" in members,
        "error": None,
        "started_ms": kept.times.started,
        "first_ms": kept.times.first,
        "ended_ms": kept.times.ended,
        "outcome": kept.outcome,
        **made.shown,
    }


def posted(ask: Raw, shape: Shape | None) -> Raw:
    """The body that was posted, as far as the ask is kept."""
    if shape is None or "messages" not in OBJECT.decode(ask):
        return ask
    return Raw(json_bytes(shape(json_value(bytes(ask)))))
