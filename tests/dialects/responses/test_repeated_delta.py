"""The short way for repeated deltas: the client gets the same bytes as by the long way."""

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.options import ServerOptions
from app.protocol.events import Event
from tests.support.relay_turns import Json, new_turn
from tests.wire.servers.responses import answer, call, message, reasoning
from tests.wire.servers.responses_like import codex_backend, copilot, llama_cpp, transformers, vllm

EVENTS = answer(
    reasoning("rs_0", *"thought"),
    message("msg_1", *"Hello"),
    call("fc_2", "call_2", "weather", '{"a"', ":", "[", "1]}"),
    call("fc_3", "call_3", "time", "{", '"zone"', ":", "1}"),
)
DELTAS = [position for position, event in enumerate(EVENTS) if event["type"].endswith(".delta")]
FIELDS = ["type", "output_index", "item_id", "content_index", "summary_index", "delta", "logprobs", "item", "part"]
VALUES: list[Any] = [
    *(None, True, False, 0, 0.0, 1, 1.0, 2, 3, "", "msg_1", "fc_2", [], [{"token": "a"}]),
    *({"type": "message", "id": "msg_1"}, {"type": "output_text", "text": ""}, {"type": "refusal", "refusal": "No"}),
    *(event["type"] for event in EVENTS if "response" not in event),
    *("response.refusal.delta", "response.custom_tool_call_input.delta", "response.unknown"),
]
ABSENT = "(absent)"


def received(events: list[Json], *, long_way: bool, **options: Any) -> tuple[list[Event], int]:
    """What the client gets of these events, and how many of them went the short way."""
    turn = new_turn(**options)
    sent, short = turn.begin(), 0
    for event in deepcopy(events):
        if turn.over:
            break
        if long_way:
            turn._delta = None  # turns off what is tested
        before = turn._delta
        sent += turn.receive(event)
        short += before is not None and before is turn._delta
    return sent if turn.over else sent + turn.end(), short


@pytest.mark.parametrize("like", [deepcopy, codex_backend, copilot, llama_cpp, transformers, vllm])
def test_all_but_the_first_delta_of_a_part_go_the_short_way(like: Callable[[list[Json]], list[Json]]) -> None:
    events = like(EVENTS)
    sent, short = received(events, long_way=False)
    assert (sent, 0) == received(events, long_way=True)
    if like is not copilot:  # each of its events has another id
        assert short == sum(
            one["type"] == next_one["type"] and one["type"].endswith(".delta") for one, next_one in pairwise(events)
        )


@given(
    st.lists(st.tuples(st.sampled_from(DELTAS), st.sampled_from(FIELDS), st.sampled_from([ABSENT, *VALUES]))),
    st.lists(st.tuples(st.integers(0, len(EVENTS) - 1), st.integers(0, len(EVENTS) - 1)), max_size=4),
    st.booleans(),
    st.sampled_from(["auto", "none", {"type": "function", "name": "time"}]),
    st.sampled_from([4, 3000, 1_000_000]),
)
def test_the_short_way_changes_nothing(
    changes: list[tuple[int, str, Any]],
    swaps: list[tuple[int, int]],
    for_codex: bool,  # noqa: FBT001 — hypothesis gives it
    choice: Any,
    most: int,
) -> None:
    events = deepcopy(EVENTS)
    for position, key, value in changes:
        if value == ABSENT:
            events[position].pop(key, None)
        else:
            events[position][key] = value
    for one, other in swaps:
        events[one], events[other] = events[other], events[one]
    options: Json = {
        "for_codex": for_codex,
        "body": {"tool_choice": choice, "tools": [{"type": "function", "name": "time", "parameters": {}}]},
        "server": ServerOptions.model_construct(max_answer_bytes=most),
    }
    assert received(events, long_way=False, **options)[0] == received(events, long_way=True, **options)[0]
