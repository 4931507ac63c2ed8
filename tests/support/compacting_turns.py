"""Turns that sum up a conversation, and what is asked and told in them."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from msgspec.structs import replace

from app.compaction.remaining_history import Window, expanded, sealed_window
from app.compaction.summary import first_turn
from app.compaction.summary_text import INTRODUCTION
from app.compaction.summary_turn import SummaryContext, SummaryTurn
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from app.protocol.seals import Sealer
from tests.support.chat_requests import assistant, user
from tests.support.emitters import ReadableSealer, plain
from tests.wire import grammar

Json = dict[str, Any]


OPEN = ChatOptions(sealer=ReadableSealer())


USAGE: Json = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}


Turn = ChatTurn | SummaryTurn
IDENTITY = Identity("resp_AM-1", 1_700_000_000)


def new_turn(items: list[Json], options: ChatOptions = OPEN, **fields: Any) -> Turn:
    """The first turn of a request about these items."""
    request = parse_request(json.dumps({"model": "m", "input": items, **fields}).encode())
    return turn_for(expanded(request, options.sealer), options)


def turn_for(request: CreateResponse, options: ChatOptions = OPEN) -> Turn:
    """The turn to begin with."""
    context = SummaryContext(IDENTITY, _counted_from(2), lambda: 1_700_000_000, options.sealer)

    def make(request: CreateResponse, sealer: Sealer | None) -> ChatTurn:
        return ChatTurn(
            request,
            model="m",
            options=replace(options, sealer=sealer),
            identity=IDENTITY,
            new_id=_counted_from(2),
            now=lambda: 1_700_000_000,
        )

    return first_turn(request, make, context)


def _counted_from(first: int) -> Callable[[str], str]:
    numbers = count(first)
    return lambda prefix: f"{prefix}_AM-{next(numbers)}"


def asked(turn: Turn) -> list[tuple[str, Any]]:
    """Role and content of each message."""
    return [(message["role"], message["content"]) for message in turn.ask["messages"]]


def compaction(summary: str, **more: Any) -> Json:
    """The item that a client brings back."""
    return {"type": "compaction", "encrypted_content": sealed_window(Window(summary=summary, **more), ReadableSealer())}


def summary_text(summary: str) -> tuple[str, str]:
    return ("user", f"{INTRODUCTION}\n\n{summary}")


def read(turn: Turn, chunks: list[Json]) -> list[Event]:
    """The events of one step, to the end of the upstream's answer."""
    events: list[Event] = []
    for chunk in chunks:
        if not turn.over:
            events += turn.receive(chunk)
    if not turn.over:
        events += turn.end()
    return events


def second_turn(first: Turn) -> Turn:
    """The turn that follows a summary."""
    assert isinstance(first, SummaryTurn)
    assert first.goes_on
    return turn_for(first.next_request)


def client_events(turn: Turn, *answers: list[Json]) -> list[Json]:
    """The whole stream of a model's server that answers so, ask by ask."""
    first, *further = answers
    events = [*turn.begin(), *read(turn, first)]
    if isinstance(turn, SummaryTurn):
        events += turn.finish()
        if further:
            second = second_turn(turn)
            events += [*second.begin(turn.emitter.hand_over()), *read(second, further[0])]
    sent = plain(events)
    grammar.check(sent)
    return sent


def outcome(events: list[Json]) -> tuple[str, list[str], str]:
    """How it ended, with which items, and why."""
    response = events[-1]["response"]
    return (
        response["status"],
        [item["type"] for item in response["output"]],
        (response["error"] or {}).get("message", ""),
    )


HISTORY = [user("Do it."), assistant("Done."), user("Well done.")]
