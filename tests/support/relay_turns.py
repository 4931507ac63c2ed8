"""A relay alone: counted ids, a clock that stands, and what the client reads."""

import json
from collections.abc import Iterable
from itertools import count
from typing import Any

from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.parsing.request_body import parse_request
from app.protocol.events import Event, Relayed
from app.protocol.response import Identity
from app.transports.sse import frame

Json = dict[str, Any]

CREATED_AT = 1_700_000_000


def new_turn(*, for_codex: bool = False, body: Json | None = None, **options: Any) -> RelayTurn:
    """A turn that has not begun. The model is `public` here and `theirs` upstream."""
    numbers = count(1)
    return RelayTurn(
        parse_request(json.dumps({"model": "public", "input": "Hi", **(body or {})}).encode()),
        model="theirs",
        options=RelayOptions(**options),
        identity=Identity("resp_AM-1", CREATED_AT),
        mint=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: CREATED_AT,
        for_codex=for_codex,
    )


def plain(events: Iterable[Event]) -> list[Json]:
    """Events as a client reads them. Refuses one whose name, number or frame does not fit what is inside."""
    told = []
    for event in events:
        assert isinstance(event, Relayed)
        read = json.loads(event.data)
        assert frame(event).startswith(b"event: %b\ndata: " % event.name)
        assert (read["type"], read["sequence_number"]) == (event.name.decode(), event.sequence_number)
        told.append(read)
    return told


def heard(turn: RelayTurn, events: Iterable[Json]) -> list[Json]:
    """What the client is told of these events, as far as the turn goes."""
    told = turn.begin()
    for event in events:
        if not turn.over:
            told += turn.receive(json.loads(json.dumps(event)))
    return plain(told)
