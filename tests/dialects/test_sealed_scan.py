"""Sealed items that grow in number and in what they hold: time and memory stay in proportion to the request."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from app.compaction.remaining_history import Window, expanded, expanded_body, sealed_window
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.parsing.request_body import parse_request
from app.protocol.problems import ProblemError
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from app.sealing import MOST_OPENED, EnvelopeSealer
from tests.support.scan import assert_lean, assert_linear
from tests.support.warning_sentences import sentences

Json = dict[str, Any]
Work = Callable[[bytes], object]

ORIGIN: Final = "chat http://up.test/v1"
SEALING: Final = EnvelopeSealer(["k" * 32], chance=bytes, now=lambda: 0.0)
MOST: Final = 2_000_000
"""Bytes that may be opened in the tests of that bound."""
USER: Final[Json] = {"type": "message", "role": "user", "content": "Hi"}
SAYS: Final[Json] = {"type": "message", "role": "assistant", "content": "Yes."}


def thought(text: str, **fields: Any) -> Json:
    """A sealed thought of the model that is asked."""
    sealer = SEALING.for_owner("")
    content = {"origin": ORIGIN, "model": "m", "text": text, **fields}
    return {"type": "reasoning", "summary": [], "encrypted_content": sealer.seal("reasoning", content)}


def window(**fields: Any) -> Json:
    """A compaction item."""
    return {"type": "compaction", "encrypted_content": sealed_window(Window(**fields), SEALING.for_owner(""))}


SHORT_THOUGHT: Final = thought("hm " * 700)
LONG_THOUGHT: Final = thought("hm " * 21_000)
OTHERS_THOUGHT: Final = thought("hm " * 21_000, model="other")
VALUES: Final = thought("hm", fields={"reasoning_details": [{"type": "x"}] * 2_000})
WINDOW: Final = window(summary="a" * 200_000)
WHOLE: Final = window(summary="So.", whole=True, after=[USER] * 500)


def request_body(items: list[Json]) -> bytes:
    return json.dumps({"model": "m", "input": [USER, *items, SAYS, USER]}).encode()


def by_chat(body: bytes) -> ChatTurn:
    """What a chat server is asked."""
    options = chat_options()
    return ChatTurn(expanded(parse_request(body), options.sealer), options=options, **turn_fields())


def by_relay(body: bytes) -> RelayTurn:
    """What a server that speaks Responses is asked."""
    options = RelayOptions(sealer=SEALING.for_owner(""), origin=ORIGIN)
    return RelayTurn(expanded_body(parse_request(body), options.sealer), options=options, **turn_fields())


def chat_options(most: int = MOST_OPENED) -> ChatOptions:
    sealing = EnvelopeSealer(["k" * 32], chance=bytes, now=lambda: 0.0, most_opened=most)
    return ChatOptions(sealer=sealing.for_owner(""), origin=ORIGIN)


def turn_fields() -> Json:
    return {
        "model": "m",
        "identity": Identity("resp_AM-1", 1),
        "new_id": lambda prefix: f"{prefix}_AM-1",
        "now": lambda: 1,
    }


ITEMS: Final = {
    "short thoughts": (SHORT_THOUGHT, 60),
    "long thoughts": (LONG_THOUGHT, 5),
    "another model's": (OTHERS_THOUGHT, 5),
    "many values": (VALUES, 4),
    "windows": (WINDOW, 10),
    "whole windows": (WHOLE, 3),
}


@pytest.mark.parametrize(
    ("name", "work"), [*[(name, by_chat) for name in ITEMS], ("long thoughts", by_relay), ("windows", by_relay)]
)
def test_four_times_the_sealed_items_take_four_times_as_long(name: str, work: Work) -> None:
    item, count = ITEMS[name]
    assert_linear(name, lambda n: request_body([item] * n), work, count)


@pytest.mark.parametrize("work", [by_chat, by_relay])
@pytest.mark.parametrize("name", ITEMS)
def test_sealed_items_take_ten_bytes_for_a_byte_and_what_may_be_opened(name: str, work: Work) -> None:
    item, count = ITEMS[name]
    body = request_body([item] * count * 4)
    assert_lean(name, body, work, fixed=min(MOST_OPENED, 8 * len(body)))


def test_only_the_last_window_that_opens_is_opened() -> None:
    """A hundred of them would be ten times what may be opened. One that opens nowhere is passed over."""
    forged = {**WINDOW, "encrypted_content": WINDOW["encrypted_content"][:-4] + "AAAA"}
    request = parse_request(request_body([*[WINDOW] * 99, window(summary="The last."), forged]))
    options = chat_options(MOST)
    turn = ChatTurn(expanded(request, options.sealer), options=options, **turn_fields())
    messages = [message["content"] for message in turn.ask["messages"]]
    assert [text.rpartition("\n")[2] for text in messages] == ["Hi", "The last.", "Yes.", "Hi"]
    assert sentences(turn.warnings) == [
        "input[101] was left out: only the server that summarized this conversation can read it."
    ]


@pytest.mark.parametrize("item", [LONG_THOUGHT, VALUES], ids=["long", "values"])
@pytest.mark.parametrize("relayed", [False, True])
def test_a_request_whose_seals_hold_too_much_is_refused_by_its_path(item: Json, *, relayed: bool) -> None:
    def translate(request: CreateResponse) -> None:
        options = chat_options(MOST)
        if relayed:
            RelayTurn(request, options=RelayOptions(sealer=options.sealer, origin=ORIGIN), **turn_fields())
        else:
            ChatTurn(request, options=options, **turn_fields())

    translate(parse_request(request_body([item] * 3)))
    with pytest.raises(ProblemError) as raised:
        translate(parse_request(request_body([item] * 60)))
    problem = raised.value.problem
    assert problem.code == "invalid_value"
    assert problem.param.startswith("input[")
    assert problem.param.endswith("].encrypted_content")


def test_a_conversation_that_is_summed_up_first_may_open_the_same_seals_for_both_asks() -> None:
    """Both read the same request: what may be opened is meant for one reading."""
    wanted = {"context_management": [{"type": "compaction", "compact_threshold": 10}]}
    items = [USER, *[thought("hm " * 60_000)] * 9, SAYS, USER]
    request = parse_request(json.dumps({"model": "m", "input": items, **wanted}).encode())
    turn = ChatTurn(request, options=chat_options(MOST), **turn_fields())
    assert sentences(turn.warnings) == []
    assert len(turn.ask["messages"]) == 3
