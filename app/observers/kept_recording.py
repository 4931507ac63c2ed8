"""A turn that the inspector keeps, as a recording: `app/recordings` has the format. Runs in a thread."""

import re
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from msgspec import Raw

from ..json_text import json_value
from ..recordings.comparison import ended_by_client
from ..recordings.recording import MOST_ASKS, About, Arrival, ClientEvent, Exchange, Recording
from ..recordings.recording_files import files_of
from ..version import VERSION
from .folder_recorder import OUTCOME
from .kept_notes import Batch
from .recorded_ask import RawAnswer
from .shown_turn import Snapshot, shown_asks

_LEFT_OUT: Final = re.compile(r"(?:…|\\u2026) \([0-9]{1,12} (?:characters|bytes)")
"""What the inspector shows in place of what it does not keep."""
_SEALED: Final = re.compile(r'"(?:…|\\u2026) \([0-9]{1,12} characters, sealed\)"')
"""In an answer, encrypted content is not compared."""
_WHOLE: Final = frozenset({"completed", "incomplete"})


class NotKeptError(Exception):
    """A turn cannot be saved as a recording; the text is a sentence that says why."""


def zipped(turn: Snapshot) -> bytes:
    """The folder of its recording, in a ZIP file. Raises `NotKeptError`."""
    files = files_of(recording_of(turn))
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"turn-{turn.number}/{name}", data)
    return buffer.getvalue()


def recording_of(turn: Snapshot) -> Recording:
    """It as a recording. Raises `NotKeptError` if a part of it is not kept, without which it cannot be replayed."""
    origin, request = turn.origin, turn.request
    if turn.row["state"] == "running":
        raise NotKeptError("This turn still runs.")
    if origin is None or not request:
        raise NotKeptError("The request of this turn is not kept, because no upstream was asked.")
    if "left_out" in request or any(_LEFT_OUT.search(_text(value)) for value in request.values()):
        raise NotKeptError(
            "The request is not kept in full: encrypted content, files and very long parts are left out."
        )
    if turn.left_out:
        raise NotKeptError("Some events of this turn were too large to be kept.")
    if turn.fields.get("searches") or turn.fields.get("opened_pages"):
        raise NotKeptError("This server searched the web in this turn, and what it found is not kept.")
    exchanges = [_exchange(turn, ask) for ask in shown_asks(turn)]
    if len(exchanges) > MOST_ASKS:
        raise NotKeptError(f"This turn has more than {MOST_ASKS} requests to upstreams.")
    recording = Recording(
        About(
            am_proxy=VERSION,
            recorded=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(turn.row["began"])),
            request_id=turn.id,
            transport="websocket" if turn.row["websocket"] else "http",
            summary_only=origin.summary_only,
            for_codex=origin.for_codex,
            sees_causes=origin.sees_causes,
            previous_response_id=origin.previous_response_id,
            model=origin.model,
            settings=origin.settings(),
            upstreams=[exchange.upstream for exchange in exchanges],
            outcome={name: turn.fields[name] for name in OUTCOME if name in turn.fields},
        ),
        {name: json_value(bytes(value)) for name, value in request.items()},
        exchanges,
        list(_events(turn)),
    )
    if turn.fields.get("finish") not in _WHOLE or ended_by_client(recording):
        raise NotKeptError("This turn broke off, and what the upstream would have sent is not known.")
    return recording


def _exchange(turn: Snapshot, ask: dict[str, Any]) -> Exchange:
    kept = turn.asks[ask["number"] - 1]
    upstream = json_value(bytes(ask["upstream"]))
    body = bytes(ask["body"])
    tries = sum(step.name == "asking" for step in kept.times.steps)
    if ask["error"] is not None or tries > 1:
        raise NotKeptError(f"The upstream {upstream} failed first, and its error is not kept as it came.")
    if kept.raw is None:
        raise NotKeptError(f"The answer of the upstream {upstream} is not kept as it came, because it has no own HTTP.")
    if kept.raw.left_out:
        raise NotKeptError(f"The answer of the upstream {upstream} was too long to be kept in full.")
    if kept.outcome not in {"answered", "again"} or ask["goes_on"]:
        raise NotKeptError(f"The answer of the upstream {upstream} broke off or was paused.")
    if _LEFT_OUT.search(_text(body)):
        raise NotKeptError("A request to an upstream is not kept in full: files and very long parts are left out.")
    return Exchange(upstream, json_value(body), list(_arrivals(kept.raw, kept.times.first or 0.0)))


def _arrivals(raw: RawAnswer, first: float) -> Iterator[Arrival]:
    """An answer that was read to its end. A character whose bytes came in two pieces belongs to the later one."""
    yield Arrival(at=first, status=200)
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    for number, (at, data) in enumerate(zip(raw.times, raw.pieces, strict=True), 1):
        yield Arrival(at=at, text=decoder.decode(data, final=number == len(raw.pieces)))


def _events(turn: Snapshot) -> Iterator[ClientEvent]:
    for note in turn.notes:
        if isinstance(note, Batch):
            for event in note.shown_events():
                if _LEFT_OUT.search(_SEALED.sub("", _text(event))):
                    raise NotKeptError("An event is not kept in full: files and very long parts are left out.")
                yield ClientEvent(at=note.at, event=json_value(event))


def _text(data: bytes | Raw) -> str:
    return bytes(data).decode("utf-8", "replace")
