"""The parts of a recording, and the names of its files. `docs/recordings.md` describes the format.

recording.json   what is recorded: the versions, the model, the settings that matter, how the turn ended
request.json     what the client sent
ask.json         what the first upstream was sent
upstream.jsonl   what came back, one line for each piece, with its time
ask-2.json, upstream-2.jsonl    the same for each further ask
events.jsonl     what the client was sent, with its time
"""

from typing import Any, Final, Literal, NamedTuple

import msgspec

FORMAT: Final = 1
"""The version of the format. It is raised when a file gets a meaning that earlier versions would misread."""
ABOUT: Final = "recording.json"
REQUEST: Final = "request.json"
EVENTS: Final = "events.jsonl"
MOST_ASKS: Final = 200
"""Asks of one turn that are recorded, and read."""

Failure = Literal[
    "unreachable", "unreachable_tls", "no_connection_in_time", "silent", "compressed", "not_http", "broke_off"
]
"""How an ask failed: no connection could be made (for its certificate, or not in time), nothing came in time, the
answer was compressed or no HTTP, or the connection was lost."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Something that came from an upstream. All but `at` and one of the others are left out."""

    at: float
    """Milliseconds since the turn began."""
    status: int | None = None
    """The status of an HTTP answer, which comes before its text."""
    headers: dict[str, str] = {}
    """Those of its headers that are read: for how long to wait, and the kind of the text."""
    text: str | None = None
    """A piece of its body. A byte that is no UTF-8 is half a UTF-16 character, as `surrogateescape` has it."""
    chunk: Any = None
    """A chunk of an upstream that is not asked over HTTP by AM Proxy itself: by litellm, or the demo."""
    problem: dict[str, Any] | None = None
    """Why such an upstream refused or broke off."""
    failed: Failure | None = None
    """How the connection failed."""
    closed: bool = False
    """AM Proxy stopped reading: the answer was complete, a limit was reached, or the client had left."""


class ClientEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Something that the client was sent: an event, or the problem that it got instead of an answer."""

    at: float
    """Milliseconds since the turn began."""
    event: dict[str, Any] | None = None
    refused: dict[str, Any] | None = None
    """`status` and `error`."""


class Exchange(NamedTuple):
    """One ask, and what came back."""

    upstream: str
    """The name of the upstream in the configuration."""
    ask: Any
    arrivals: list[Arrival]


class About(msgspec.Struct, kw_only=True):
    """What is recorded."""

    format: int = FORMAT
    am_proxy: str
    """The version of AM Proxy that recorded it."""
    recorded: str
    """When it was recorded, in UTC."""
    request_id: str = ""
    transport: Literal["http", "websocket"] = "http"
    summary_only: bool = False
    """Whether it was a request for a summary alone, which has an endpoint of its own."""
    for_codex: bool = False
    """Whether the client was Codex, which gets some events in another form."""
    sees_causes: bool = False
    """Whether errors say why an upstream failed, because nobody but its operator can call the server."""
    previous_response_id: str | None = None
    """The response that it continues, over a websocket. The request holds all of the conversation."""
    model: str
    """The model that was requested."""
    settings: dict[str, Any] = {}
    """The settings that matter and are not defaults: `server`, `model`, and `upstreams` by their names."""
    upstreams: list[str] = []
    """The upstream of each ask."""
    outcome: dict[str, Any] = {}
    """How the turn ended: some fields of its log line."""
    left_out: list[str] = []
    """What is not recorded, in sentences."""
    request_is_kept: bool = True
    """Whether there is a `request.json`."""


class Recording(NamedTuple):
    """One turn."""

    about: About
    request: Any
    """None if the request was not read, or is too long."""
    exchanges: list[Exchange]
    events: list[ClientEvent]


def ask_name(number: int) -> str:
    """The file of an ask, counted from 1."""
    return "ask.json" if number == 1 else f"ask-{number}.json"


def upstream_name(number: int) -> str:
    """The file of what came back."""
    return "upstream.jsonl" if number == 1 else f"upstream-{number}.jsonl"
