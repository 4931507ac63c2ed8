"""What a client hears of chunks: shared by the tests of this dialect."""

from itertools import count
from typing import Any

import msgspec

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check
from tests.wire.script import Chunk

DEFAULT = ChatOptions()


def turn(options: ChatOptions = DEFAULT, **fields: object) -> ChatTurn:
    """A turn for the smallest request with these fields."""
    numbers = count(2)
    return ChatTurn(
        parse_request(msgspec.json.encode({"model": "public", "input": "Hi", **fields})),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def client_events(turn: ChatTurn, *chunks: Chunk) -> list[dict[str, Any]]:
    """Every event of the turn, sound in the eyes of the grammar, of both judges and of the reference consumer."""
    events = turn.begin()
    for chunk in chunks:
        if not turn.over:
            events += turn.receive(chunk)
    if not turn.over:
        events += turn.end()
    result = [msgspec.json.decode(msgspec.json.encode(event)) for event in events]
    check(result)
    judge(result)
    judge_response(result[-1]["response"])
    check_consumed(result)
    return result
