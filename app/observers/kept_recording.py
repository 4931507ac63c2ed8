"""A turn that the inspector keeps, as a recording: `app/recordings` has the format. Runs in a thread."""

import re
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from msgspec import Raw

from ..json_text import json_value
from ..recordings.readable_seals import Open, with_readable
from ..recordings.recording import MOST_ASKS, About, ClientEvent, Exchange, Recording
from ..recordings.recording_files import files_of
from ..version import VERSION
from .arrivals import arrivals_of
from .folder_recorder import OUTCOME
from .kept_notes import Batch
from .shown_turn import Members, Snapshot, posted

_LEFT_OUT: Final = re.compile(r"(?:…|\\u2026) \([0-9]{1,12} (?:characters|bytes)")
"""What the inspector shows in place of what it does not keep."""
_SEALED: Final = re.compile(r'"(?:…|\\u2026) \([0-9]{1,12} characters, sealed\)"')
"""In an answer, encrypted content is not compared."""


class NotKeptError(Exception):
    """A turn cannot be saved as a recording; the text is a sentence that says why."""


def zipped(turn: Snapshot, open_: Open) -> bytes:
    """The folder of its recording, in a ZIP file. Raises `NotKeptError`. `open_` opens what this server encrypted."""
    files = files_of(recording_of(turn, open_))
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"turn-{turn.number}/{name}", data)
    return buffer.getvalue()


def recording_of(turn: Snapshot, open_: Open) -> Recording:
    """It as a recording. Raises `NotKeptError` if a part of it is not kept, without which it cannot be replayed."""
    origin, request = turn.origin, turn.whole_request
    if turn.row["state"] == "running":
        raise NotKeptError("This turn still runs.")
    if origin is None or not request:
        raise NotKeptError("The request was refused before it was understood.")
    if "left_out" in request or any(_LEFT_OUT.search(_text(value)) for value in request.values()):
        raise NotKeptError("The request is not kept in full: files and very long parts are left out.")
    if turn.left_out:
        raise NotKeptError("Some events of this turn were too large to be kept.")
    exchanges = [exchange for ask in turn.asked for exchange in _exchanges(turn, ask)]
    if len(exchanges) > MOST_ASKS:
        raise NotKeptError(f"This turn has more than {MOST_ASKS} requests to upstreams.")
    return Recording(
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
        with_readable({name: json_value(bytes(value)) for name, value in request.items()}, open_),
        exchanges,
        list(_events(turn)),
    )


def _exchanges(turn: Snapshot, ask: Members) -> Iterator[Exchange]:
    made = turn.asks[json_value(ask["ask_number"]) - 1].made
    upstream = json_value(ask["upstream"])
    if not made.is_whole:
        raise NotKeptError(f"The answer of the upstream {upstream} was too long to be kept in full.")
    if _LEFT_OUT.search(_text(ask["ask"])):
        raise NotKeptError("A request to an upstream is not kept in full: files and very long parts are left out.")
    for each in made.tries:
        yield Exchange(upstream, json_value(bytes(posted(ask["ask"], each.shape))), arrivals_of(each.came))


def _events(turn: Snapshot) -> Iterator[ClientEvent]:
    for note in turn.notes:
        if isinstance(note, Batch):
            for event in note.shown_events():
                if _LEFT_OUT.search(_SEALED.sub("", _text(event))):
                    raise NotKeptError("An event is not kept in full: files and very long parts are left out.")
                yield ClientEvent(at=note.at, event=json_value(event))
        elif note.name == "refused":
            members = json_value(note.shown(b"{"))
            refused = {name: members[name] for name in ("status", "error")}
            yield ClientEvent(at=members["at"], refused=refused)


def _text(data: bytes | Raw) -> str:
    return bytes(data).decode("utf-8", "replace")
