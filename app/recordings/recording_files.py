"""A recording as the bytes of its files. Nothing in it is a key any more: see `blotted.py`."""

from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from ..json_text import json_bytes
from .blotted import blotted, blotted_all
from .blotted_bodies import blotted_pieces
from .recording import ABOUT, EVENTS, REQUEST, Arrival, ClientEvent, Recording, ask_name, upstream_name

_DEFAULTS: Final[dict[str, Any]] = {"status": None, "headers": {}, "closed": False}


def files_of(recording: Recording) -> dict[str, bytes]:
    """The bytes of each file, by its name."""
    files = {ABOUT: _pretty(blotted(asdict(recording.about)))}
    if recording.request is not None:
        files[REQUEST] = _pretty(blotted(recording.request))
    for number, exchange in enumerate(recording.exchanges, 1):
        files[ask_name(number)] = _pretty(blotted(exchange.ask))
        arrivals = blotted_arrivals(exchange.arrivals, with_causes=recording.about.sees_causes)
        files[upstream_name(number)] = _lines([_plain(arrival) for arrival in arrivals])
    files[EVENTS] = _lines([_plain(event) for event in _blotted_events(recording.events)])
    return files


def blotted_arrivals(arrivals: list[Arrival], *, with_causes: bool) -> list[Arrival]:
    """The same without what must not be kept. `with_causes`: the client is told why an upstream failed."""
    texts = blotted_pieces([arrival.text for arrival in arrivals if arrival.text is not None] or [""])
    texts += [""] * len(arrivals)  # a body that changed as a whole is one piece
    chunks = iter(blotted_all([arrival.chunk for arrival in arrivals]))
    kept_texts = iter(texts)
    return [
        replace(
            arrival,
            headers=blotted(arrival.headers),
            text=None if arrival.text is None else next(kept_texts),
            chunk=next(chunks),
            problem=_problem(arrival.problem, with_cause=with_causes),
        )
        for arrival in arrivals
    ]


def _problem(problem: dict[str, Any] | None, *, with_cause: bool) -> Any:
    if problem is None:
        return None
    return blotted({name: value for name, value in problem.items() if name != "cause" or with_cause})


def _blotted_events(events: list[ClientEvent]) -> list[ClientEvent]:
    kept = blotted_all([event.event for event in events])
    return [
        replace(event, event=value, refused=blotted(event.refused)) for event, value in zip(events, kept, strict=True)
    ]


def _plain(line: Arrival | ClientEvent) -> dict[str, Any]:
    """The members that are not defaults, in their order."""
    return {name: value for name, value in asdict(line).items() if value != _DEFAULTS.get(name)}


def _pretty(value: Any) -> bytes:
    return msgspec.json.format(json_bytes(value), indent=2) + b"\n"


def _lines(values: list[Any]) -> bytes:
    return b"".join(json_bytes(value) + b"\n" for value in values)
