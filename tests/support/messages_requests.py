"""What a server of the Messages API is asked for a request: shared by the tests of this dialect."""

from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from app.compaction.remaining_history import expanded
from app.dialects.messages.messages_options import MessagesOptions
from app.dialects.messages.messages_turn import MessagesTurn
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from app.providers.claude_models import claude_model
from app.upstreams.http_messages import OTHERS
from tests.support.emitters import ReadableSealer
from tests.support.warning_sentences import sentences
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

Json = dict[str, Any]

MODEL: Final = "claude-sonnet-4-6"
MOST_TOKENS: Final = 64_000
"""The limit of an answer of this model where the client gives none."""
ASKING: Final = {"include": ["reasoning.encrypted_content"], "store": False}
HI: Final = {"role": "user", "content": "Hi"}


class Asked(NamedTuple):
    """A body, and what clients read of the things that it does not say."""

    body: Json
    warnings: list[str]


def options(name: str = MODEL, **fields: Any) -> MessagesOptions:
    """The rules of this model at Anthropic's own server, as the catalogue makes them."""
    claude = claude_model(name)
    settings: Json = {
        "call_ids": "plain64",
        "declare_past_tools": True,
        "file_urls": True,
        "hints": frozenset({"safety_identifier", "service_tier", "user"}),
        "sealer": ReadableSealer(),
        "origin": "messages",
        "one_maker": True,
        "signed_reasoning": True,
        "has_all_features": True,
        "model": ModelOptions(web_search=True, cache_control="off"),
        "can": OTHERS if claude is None else claude.capabilities,
    }
    return MessagesOptions(**(settings | fields))


def turn(fields: Json, name: str = MODEL, **rules: Any) -> MessagesTurn:
    """A turn for a request with these fields."""
    numbers = count(2)
    own = options(name, **rules)
    request = expanded(parse_request(msgspec.json.encode({"model": "public", "input": "Hi", **fields})), own.sealer)
    return MessagesTurn(
        request,
        model=name,
        options=own,
        identity=Identity("resp_AM-1", 1_700_000_000),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def asked(fields: Json, name: str = MODEL, **rules: Any) -> Asked:
    """What the server is asked for a request with these fields."""
    new = turn(fields, name, **rules)
    return Asked(new.ask, sentences(new.warnings))


def events_of(told: MessagesTurn, events: list[Json]) -> list[Json]:
    """What a client reads of an answer that consists of these events. They are judged as clients would."""
    sent = told.begin()
    for event in events:
        if not told.over:
            sent += told.receive(event)
    if not told.over:
        sent += told.end()
    plain: list[Json] = [msgspec.json.decode(msgspec.json.encode(event)) for event in sent]
    check(plain)
    judge(plain)
    return plain


def answered(events: list[Json], fields: Json | None = None, name: str = MODEL, **rules: Any) -> Json:
    """The final response to a request with these fields, whose answer consists of these events."""
    response: Json = events_of(turn({**ASKING, **(fields or {})}, name, **rules), events)[-1]["response"]
    return response
