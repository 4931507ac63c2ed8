"""A relay: everything passes, numbered anew; where the upstream falls silent or breaks off, the end is honest."""

import json
from copy import deepcopy
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent

from app.protocol.events import Ending, RelayedItem
from app.protocol.response import IncompleteDetails, ResponseError, Usage
from tests.support.relay_turns import (
    BROKE,
    CREATED_AT,
    FULL_ANSWER,
    HELLO,
    Json,
    begun_answer,
    client_events,
    last,
    marked,
    new_turn,
    plain,
)
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check
from tests.wire.servers.responses import (
    answer,
    begins,
    ends,
    hosted,
    items,
    message,
    numbered,
    response,
)


def test_an_answer_passes_with_our_mark_and_the_public_name() -> None:
    events = client_events(new_turn(), answer(*FULL_ANSWER))
    assert events == marked(answer(*FULL_ANSWER))
    check(events)
    judge(events)
    check_consumed(events)


def test_where_ids_are_kept_only_the_model_is_renamed() -> None:
    expected = json.loads(json.dumps(answer(*FULL_ANSWER)).replace("gpt-5-2025-08-07", "public"))
    assert client_events(new_turn(ids="keep"), answer(*FULL_ANSWER)) == expected


def of_every_kind() -> list[Json]:
    """One event of every type that OpenAI knows, and of some it does not know yet. All fields are there, and more."""
    fields: Json = {
        "item_id": "x_1", "output_index": 0, "content_index": 0, "summary_index": 0, "annotation_index": 0,
        "partial_image_index": 0, "partial_image_b64": "AAAA", "delta": "d", "text": "t", "refusal": "r", "code": "c",
        "arguments": "{}", "name": "f", "input": "i", "diff": "+", "logprobs": [{"token": "d", "logprob": -1e-07}],
        "annotation": {"type": "container_file_citation", "file_id": "cfile_1", "container_id": "cntr_1"},
        "obfuscation": "Xy", "status": "completed", "part": {"type": "of_tomorrow"},
    }  # fmt: skip
    types = [get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(ResponseStreamEvent)[0])]
    types += ["response.apply_patch_call_operation_diff.delta", "response.shell_call_command.delta", "of.tomorrow"]
    apart = {"error", "response.created", "response.completed", "response.incomplete", "response.failed"}
    return [
        {"type": kind, "response": response()}
        if kind in {"response.queued", "response.in_progress"}
        else {"type": kind, "output_index": 0, "item": {"id": "x_1", "type": "of_tomorrow", "nested": {"id": "y_1"}}}
        if kind.startswith("response.output_item.")
        else {"type": kind, **fields}
        for kind in types
        if kind not in apart
    ]


def test_events_of_every_kind_pass_whole() -> None:
    done = {"id": "x_1", "type": "of_tomorrow", "nested": {"id": "y_1"}}
    last = ends()
    last["response"]["output"] = [done]
    events = numbered([*begins(), *of_every_kind(), last])
    assert len(events) > 50
    assert client_events(new_turn(), events) == marked(events)


def test_hosted_tools_pass_with_all_their_events() -> None:
    search = hosted("web_search_call", "ws_1", "in_progress", "searching", "completed", action={"type": "search"})
    image = hosted("image_generation_call", "ig_1", "in_progress", "generating", "completed", result="AAAA")
    code = hosted("code_interpreter_call", "ci_1", "in_progress", "interpreting", "completed", code="1", outputs=[])
    code.between.insert(1, {"type": "response.code_interpreter_call_code.delta", "delta": "1"})
    events = answer(search, image, code, HELLO)
    assert client_events(new_turn(), events) == marked(events)


def test_numbers_are_ours_whatever_the_upstream_counts() -> None:
    events = [{**event, "sequence_number": 7} for event in answer(HELLO)]
    del events[3]["sequence_number"]
    assert [event["sequence_number"] for event in client_events(new_turn(), events)] == list(range(len(events)))


def test_half_characters_pass_as_they_came() -> None:
    """Some servers split an emoji between two deltas; JSON can say that, UTF-8 cannot."""
    events = answer(message("msg_1", "\ud83d", "\ude00"))
    received = client_events(new_turn(), events)
    assert [event["delta"] for event in received if event["type"].endswith(".delta")] == ["\ud83d", "\ude00"]


# Signs of life


NUDGES: list[tuple[list[Json], Json]] = [
    (begins(), {"type": "response.in_progress"}),
    (begun_answer(HELLO)[:3], {"type": "response.in_progress"}),
    (
        begun_answer(HELLO)[:5],
        {
            "type": "response.output_text.delta",
            "item_id": "msg_AM-1",
            "output_index": 0,
            "content_index": 0,
            "delta": "",
            "logprobs": [],
        },
    ),
    (begun_answer(HELLO)[:7], {"type": "response.in_progress"}),
    (
        begun_answer(FULL_ANSWER[0])[:5],
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs_AM-0",
            "output_index": 0,
            "summary_index": 0,
            "delta": "",
        },
    ),
    (
        begun_answer(FULL_ANSWER[2])[:4],
        {"type": "response.function_call_arguments.delta", "item_id": "fc_AM-2", "output_index": 0, "delta": ""},
    ),
    (begun_answer(FULL_ANSWER[2])[:6], {"type": "response.in_progress"}),
    (begun_answer(hosted("web_search_call", "ws_1", "searching"))[:4], {"type": "response.in_progress"}),
    (begun_answer(HELLO), {"type": "response.in_progress"}),
]


@pytest.mark.parametrize(("events", "sign"), NUDGES, ids=range(len(NUDGES)))
def test_silence_is_filled_with_a_sign_of_life_that_fits(events: list[Json], sign: Json) -> None:
    turn = new_turn()
    done = [event["item"] for event in marked(events) if event["type"] == "response.output_item.done"]
    if sign["type"] == "response.in_progress":
        sign = {**sign, "response": marked(begins())[0]["response"] | {"output": done}}
    received = client_events(turn, events)
    assert plain(turn.keep_alive()) == [{**sign, "sequence_number": len(received)}]


def test_signs_of_life_anywhere_leave_a_stream_that_is_whole() -> None:
    """No number is missing, nothing is out of order, and the client hears the same."""
    turn = new_turn()
    received = turn.begin()
    for event in answer(*FULL_ANSWER):
        received += turn.receive(deepcopy(event))
        received += [] if turn.over else turn.keep_alive()
    events = plain(received)
    check(events)
    judge(events)
    assert check_consumed(events) == check_consumed(client_events(new_turn(), answer(*FULL_ANSWER)))


# In the upstream's stead


def test_an_upstream_that_keeps_the_client_waiting_is_spoken_for() -> None:
    """Its own beginning is then left out, and its response goes by the id that the client knows."""
    turn = new_turn(body={"temperature": 0.5})
    assert turn.begin() == []
    first = plain(turn.keep_alive())
    assert [event["type"] for event in first] == ["response.created", "response.in_progress"]
    assert first[0]["response"]["temperature"] == 0.5
    rest = client_events(turn, answer(HELLO, temperature=0.5, reasoning=None, text={"format": {"type": "text"}}))
    assert [event["type"] for event in rest[:2]] == ["response.in_progress", "response.output_item.added"]
    last = rest[-1]["response"]
    assert (last["id"], last["created_at"]) == (first[0]["response"]["id"], CREATED_AT)
    assert [event["sequence_number"] for event in first + rest] == list(range(len(first + rest)))


def test_an_upstream_that_forgets_to_begin_is_spoken_for() -> None:
    events = numbered([*items(HELLO), ends(HELLO)])
    received = client_events(new_turn(), events)
    assert [event["type"] for event in received[:3]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
    ]
    assert {event["response"]["id"] for event in received if "response" in event} == {"resp_AM-1"}


def test_the_second_word_is_said_where_the_upstream_forgets_it() -> None:
    events = answer(HELLO)
    assert client_events(new_turn(), [events[0], *events[2:]]) == marked(events)


def test_beginning_twice_is_beginning_once() -> None:
    assert client_events(new_turn(), [*begins()[:1], *answer(HELLO)]) == marked(answer(HELLO))


# Endings


NONSENSE = st.none() | st.integers(-1, 1) | st.sampled_from(["msg_1", "x", []]) | st.just({"type": "output_text"})
FIELDS = ["output_index", "content_index", "summary_index", "item", "part", "item_id", "delta", "text", "logprobs"]
ODD = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from([event["type"] for event in answer(*FULL_ANSWER)[2:-1]]),
    st.dictionaries(st.sampled_from(FIELDS), NONSENSE),
)


@given(st.lists(st.one_of(ODD, st.sampled_from(answer(*FULL_ANSWER)[2:-1]))))
def test_no_nonsense_of_an_upstream_breaks_the_relay(events: list[Json]) -> None:
    """It is passed on; the numbers are right, and the turn can be kept alive and ended."""
    turn = new_turn()
    events = [*events, {"type": "of.tomorrow"}]  # what may be the end of a cut call waits for something behind it
    received = client_events(turn, [*begins(), *events]) + plain(turn.keep_alive()) + plain(turn.fail(BROKE))
    assert [event["sequence_number"] for event in received] == list(range(len(received)))
    names = iter(event["type"] for event in received)
    assert all(event["type"] in names for event in events), "all of them pass, in this order"


# What the rest of the server sees


def test_the_last_event_holds_the_body_and_what_the_log_wants() -> None:
    last_event = last(answer(HELLO))
    assert json.loads(last_event.body) == marked(answer(HELLO))[-1]["response"]
    assert last_event.response == Ending(
        status="completed", usage=Usage(input_tokens=7, output_tokens=5, total_tokens=12)
    )
    cut = last(answer(HELLO, status="incomplete", incomplete_details={"reason": "max_output_tokens"}, usage=None))
    assert cut.response == Ending(status="incomplete", incomplete_details=IncompleteDetails(reason="max_output_tokens"))
    broke = last(answer(status="failed", error={"code": "x", "message": "y"}, usage=None))
    assert broke.response == Ending(status="failed", error=ResponseError(code="x", message="y"))


def test_the_log_sees_when_the_first_item_came() -> None:
    turn = new_turn()
    events = [event for raw in begun_answer(HELLO)[:3] for event in turn.receive(raw)]
    assert [isinstance(event, RelayedItem) for event in events] == [False, False, True]


# What the log and the counters hold
