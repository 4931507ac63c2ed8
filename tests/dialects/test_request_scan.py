"""What it costs to translate a request grows as the request does, in time and in memory, whatever its shape."""

import msgspec
import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.new_turns import AnyTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.support.emitters import CREATED_AT, counted_ids
from tests.support.scan import FIXED, assert_lean, assert_linear
from tests.support.shapes import SHAPES, body

IDENTITY = Identity("resp_AM-1", 1)

SIZE = 8_000
"""Bytes of the shortest; the longest is four times as long."""
SMALL_VALUES = 64
"""Bytes of memory that a byte may cost in a request of the smallest values. There are no more of those than
`max_items`, `max_parts`, `max_tools` and `max_json_values` allow."""


def chat(given: bytes) -> bytes:
    return _asked(
        ChatTurn(
            parse_request(given),
            model="m",
            options=ChatOptions(),
            identity=IDENTITY,
            new_id=counted_ids(),
            now=now,
        )
    )


def relay(given: bytes) -> bytes:
    return _relayed(given, RelayOptions())


def relay_of_functions(given: bytes) -> bytes:
    return _relayed(given, RelayOptions(functions_only=True, hosted_tools=()))


def _relayed(given: bytes, options: RelayOptions) -> bytes:
    return _asked(
        RelayTurn(
            parse_request(given),
            model="m",
            options=options,
            identity=IDENTITY,
            new_id=counted_ids(),
            now=now,
        )
    )


def now() -> int:
    return CREATED_AT


def _asked(turn: AnyTurn) -> bytes:
    ask = msgspec.json.encode(turn.ask)
    msgspec.json.encode(turn.begin())
    return ask


@pytest.mark.parametrize("dialect", [chat, relay, relay_of_functions])
@pytest.mark.parametrize("name", SHAPES)
def test_the_time_is_linear(name: str, dialect: object) -> None:
    assert callable(dialect)
    assert_linear(name, lambda size: body(name, size), dialect, SIZE)


@pytest.mark.parametrize("name", SHAPES)
def test_the_memory_is_linear(name: str) -> None:
    given = body(name, SIZE)
    assert_lean(name, given, chat, per_byte=SMALL_VALUES, fixed=FIXED)
