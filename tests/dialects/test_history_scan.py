"""Histories that grow: what a dialect does with them takes time in proportion to their length."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.provider_state import FORM, joined
from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.emitter.open_reasoning import StatePiece
from app.parsing.request_body import parse_request
from app.prompt.sealed_state import StateSealer
from app.protocol.response import Identity
from tests.support.emitters import ReadableSealer
from tests.support.scan import assert_linear

IDENTITY = Identity("resp_AM-1", 1)

Json = dict[str, Any]

ORIGIN: Final = "chat http://up.test/v1"
USER: Final[Json] = {"type": "message", "role": "user", "content": "Hi"}
SAYS: Final[Json] = {"type": "message", "role": "assistant", "content": "Yes."}


def sealed(text: str, *pieces: StatePiece) -> str:
    """The sealed thought of the model that is asked."""
    return StateSealer(ReadableSealer(), FORM, origin=ORIGIN, model="m", one_maker=False).seal(text, list(pieces))


def thoughts(count: int, *pieces: StatePiece, text: str = "hm " * 7_000) -> list[Json]:
    """Sealed thoughts in a row, and what they led to."""
    item = {"type": "reasoning", "summary": [], "encrypted_content": sealed(text, *pieces)}
    return [USER, *[item] * count, SAYS]


def signatures(number: int) -> StatePiece:
    """What Gemini gives beside its text."""
    return StatePiece({"provider_specific_fields": {"thought_signatures": [f"s{number}"]}})


def signed(count: int) -> list[Json]:
    """Thoughts that each bring fields of the same name for the message."""
    return thoughts(count, signatures(1), text="")


def calls_of_one_id(count: int) -> list[Json]:
    """Thoughts that each bring fields for one call."""
    item = sealed("hm", StatePiece({"extra_content": {"google": "s"}}, "c"))
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    return [USER, *[{"type": "reasoning", "summary": [], "encrypted_content": item}] * count, call]


def namespaced(count: int) -> list[Json]:
    """Past calls whose namespace is their name."""
    return [
        USER,
        *[
            {"type": "function_call", "call_id": f"c{n}", "name": f"f{n}", "namespace": f"f{n}", "arguments": "{}"}
            for n in range(count)
        ],
    ]


def history_of_turns(count: int) -> list[Json]:
    """Words of everybody, one after the other."""
    return [{**USER, "role": role, "content": "word"} for _ in range(count) for role in ("developer", "user")] + [SAYS]


def orphans(count: int) -> list[Json]:
    """Outputs without their calls."""
    return [USER, *[{"type": "function_call_output", "call_id": f"c{n}", "output": "x"} for n in range(count)]]


def clashing_ids(count: int) -> list[Json]:
    """Call ids that were given to others before, as far as this server would choose them."""
    taken = [f"c_{n}" for n in range(2, count)] + ["c"] * count
    return [
        USER,
        *[
            {"type": "function_call", "call_id": i, "name": "f", "arguments": f'{{"n":{n}}}'}
            for n, i in enumerate(taken)
        ],
    ]


SHAPES: Final = [
    (thoughts, 150),
    (signed, 1_500),
    (calls_of_one_id, 400),
    (namespaced, 1_200),
    (history_of_turns, 400),
    (orphans, 400),
    (clashing_ids, 300),
]


def body_of(items: list[Json], **fields: Any) -> bytes:
    return json.dumps({"model": "m", "input": items, **fields}).encode()


def by_chat(body: bytes) -> None:
    """What a chat server is asked."""
    options = ChatOptions(sealer=ReadableSealer(), origin=ORIGIN)
    ChatTurn(
        parse_request(body),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1),
        new_id=lambda prefix: f"{prefix}_AM-1",
        now=lambda: 1,
    )


def by_relay(body: bytes, *, functions_only: bool = False) -> None:
    """What a server that speaks Responses is asked."""
    options = RelayOptions(sealer=ReadableSealer(), origin=ORIGIN, functions_only=functions_only)
    RelayTurn(
        parse_request(body),
        model="m",
        options=options,
        identity=Identity("resp_AM-1", 1),
        new_id=lambda prefix: f"{prefix}_AM-1",
        now=lambda: 1,
    )


@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_four_times_the_history_takes_four_times_as_long(shape: Callable[[int], list[Json]], count: int) -> None:
    assert_linear(shape.__name__, lambda n: body_of(shape(n)), by_chat, count)


@pytest.mark.parametrize(("shape", "count"), [SHAPES[0], SHAPES[3]])
def test_it_is_the_same_where_it_is_relayed(shape: Callable[[int], list[Json]], count: int) -> None:
    assert_linear(shape.__name__, lambda n: body_of(shape(n)), by_relay, count)


@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_it_is_the_same_where_it_is_relayed_in_functions(shape: Callable[[int], list[Json]], count: int) -> None:
    custom = {"type": "custom", "name": "patch"}
    ask = partial(by_relay, functions_only=True)
    assert_linear(shape.__name__, lambda n: body_of(shape(n), tools=[custom]), ask, count)


def test_four_times_the_pieces_of_an_answer_are_gathered_in_four_times_the_time() -> None:
    """Of the fields that an upstream wants back: each of its chunks may bring some."""
    assert_linear("fields of a message", lambda n: [signatures(k).fields for k in range(n)], joined, 1_000)


def test_fields_of_one_call_that_come_in_pieces_are_sealed_in_linear_time() -> None:
    def pieces(count: int) -> list[StatePiece]:
        return [StatePiece({"extra_content": {f"k{n}": "s"}}, "c") for n in range(count)]

    assert_linear("fields of a call", pieces, lambda given: sealed("hm", *given), 1_000)
