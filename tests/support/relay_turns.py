"""A relay alone: counted ids, a clock that stands, and what the client reads."""

import json
from collections.abc import Iterable
from copy import deepcopy
from itertools import count
from typing import Any

from app.compaction.remaining_history import expanded_body
from app.dialects.responses.marks import marked_seal, tag_of
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.parsing.request_body import parse_request
from app.protocol.events import Event, Relayed, RelayedLast
from app.protocol.problems import Problem
from app.protocol.response import Identity
from app.transports.sse import frame
from tests.wire.servers.responses import (
    begins,
    call,
    items,
    message,
    reasoning,
    response,
)

Json = dict[str, Any]

CREATED_AT = 1_700_000_000


def new_turn(*, for_codex: bool = False, body: Json | None = None, **options: Any) -> RelayTurn:
    """A turn that has not begun. The model is `public` here and `theirs` upstream."""
    numbers = count(1)
    relay_options = RelayOptions(**options)
    request = parse_request(json.dumps({"model": "public", "input": "Hi", **(body or {})}).encode())
    return RelayTurn(
        expanded_body(request, relay_options.sealer),
        model="theirs",
        options=relay_options,
        identity=Identity("resp_AM-1", CREATED_AT),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: CREATED_AT,
        for_codex=for_codex,
    )


def on_functions(
    *tools: Json, history: Any = (), for_codex: bool = False, options: Any = None, **body: Any
) -> RelayTurn:
    """A turn on a server of functions."""
    said: Json = {"tools": list(tools), "input": [{"role": "user", "content": "Hi"}, *history], **body}
    return new_turn(body=said, for_codex=for_codex, functions_only=True, **(options or {}))


def plain(events: Iterable[Event]) -> list[Json]:
    """Events as a client reads them. Refuses one whose name, number or frame does not fit what is inside."""
    result = []
    for event in events:
        assert isinstance(event, Relayed)
        read = json.loads(event.data)
        assert frame(event).startswith(b"event: %b\ndata: " % event.name)
        assert (read["type"], read["sequence_number"]) == (event.name.decode(), event.sequence_number)
        result.append(read)
    return result


def client_events(turn: RelayTurn, events: Iterable[Json]) -> list[Json]:
    """What the client is told of these events, as far as the turn goes."""
    received = turn.begin()
    for event in events:
        if not turn.over:
            received += turn.receive(json.loads(json.dumps(event)))
    return plain(received)


HELLO = message("msg_1", "Hel", "lo")


FULL_ANSWER = [reasoning("rs_0", "hm"), HELLO, call("fc_2", "call_1", "weather", '{"city"', ":1}")]


BROKE = Problem(code="upstream_error", message="It broke.")


def marked(events: list[Json]) -> list[Json]:
    """The same events as this server tells them: its mark in every id, the model's public name."""
    received: list[Json] = json.loads(json.dumps(events))  # no item is the same as that of the last event
    for event in received:
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None:
                item["id"] = item["id"].replace("_", "_AM-")
                if "encrypted_content" in item:
                    item["encrypted_content"] = marked_seal(item["encrypted_content"], tag_of(""))
        if "item_id" in event:
            event["item_id"] = event["item_id"].replace("_", "_AM-")
        if "response" in event:
            event["response"] |= {"id": "resp_AM-68ab", "model": "public"}
    return received


def begun_answer(*text: Any) -> list[Json]:
    """An answer that has begun and goes on."""
    return [*begins(), *items(*text)]


def failed(*output: Json, problem: Problem = BROKE) -> Json:
    error = {"code": problem.shape.failed_code, "message": problem.failed_message, "type": problem.shape.type}
    result = response(list(output), "failed", id="resp_AM-68ab", model="public", error=error, usage=None)
    return {"type": "response.failed", "response": result}


def last(turn_events: list[Json], **turn: Any) -> RelayedLast:
    relay = new_turn(**turn)
    events = [event for raw in turn_events for event in relay.receive(deepcopy(raw))]
    assert isinstance(events[-1], RelayedLast)
    return events[-1]
