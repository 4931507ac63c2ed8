"""Turns that sum up a conversation, and what is asked and told in them."""

import json
from itertools import count
from typing import Any

from app.compaction.prompt import TOLD, Window, sealed_window
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.support import grammar
from tests.support.chat_requests import assistant, user
from tests.support.stage import OpenBook, plain

Json = dict[str, Any]


OPEN = ChatOptions(sealer=OpenBook())


USAGE: Json = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}


def new_turn(items: list[Json], options: ChatOptions = OPEN, **fields: Any) -> ChatTurn:
    """A turn about these items."""
    numbers = count(2)
    return ChatTurn(
        parse_request(json.dumps({"model": "m", "input": items, **fields}).encode()),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        mint=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def asked(turn: ChatTurn) -> list[tuple[str, Any]]:
    """Role and content of each message."""
    return [(message["role"], message["content"]) for message in turn.ask["messages"]]


def compaction(summary: str, **more: Any) -> Json:
    """The item that a client brings back."""
    return {"type": "compaction", "encrypted_content": sealed_window(Window(summary=summary, **more), OpenBook())}


def told(summary: str) -> tuple[str, str]:
    return ("user", f"{TOLD}\n\n{summary}")


def heard(turn: ChatTurn, *answers: list[Json]) -> list[Json]:
    """The whole stream of a model's server that answers so, ask by ask."""
    first, *further = answers
    events = turn.begin()
    for chunk in first:
        events += turn.receive(chunk)
    for answer in further:
        more = turn.go_on()
        assert more is not None
        events += more[0]
        for chunk in answer:
            events += turn.receive(chunk)
    if not turn.over:
        assert turn.go_on() is None
        events += turn.end()
    read = plain(events)
    grammar.check(read)
    return read


def outcome(events: list[Json]) -> tuple[str, list[str], str]:
    """How it ended, with which items, and why."""
    response = events[-1]["response"]
    return (
        response["status"],
        [item["type"] for item in response["output"]],
        (response["error"] or {}).get("message", ""),
    )


SAID = [user("Do it."), assistant("Done."), user("Well done.")]
