"""Servers that begin or end an item in their last response alone: clients such as Codex read nothing but its events."""

import json
from typing import Any

import pytest

from app.dialects.responses.positions import MOST_LATE
from tests.support.bridge_cases import CASES, Case, tool_of
from tests.support.relay_turns import HELLO, Json, client_events, new_turn, on_functions
from tests.wire.grammar import check
from tests.wire.servers.responses import answer, begins, call, reasoning

CALL = call("fc_1", "call_1", "f", '{"a"', ":1}")
ITEMS = [reasoning("rs_0", "hm"), HELLO, CALL, call("fc_2", "call_2", "f", "{}")]
DONE = "response.output_item.done"


def without(events: list[Json], *names: str) -> list[Json]:
    return [event for event in events if event["type"] not in names]


LATE: dict[str, Any] = {
    "no events of items": lambda events: [*begins(), events[-1]],
    "no end of an item": lambda events: without(events, DONE, "response.function_call_arguments.done"),
    "no end of the last item": lambda events: [*events[:-2], events[-1]],
    "no events of the last item": lambda events: [e for e in events if e.get("output_index") != len(ITEMS) - 1],
}


@pytest.mark.parametrize("late", LATE)
def test_the_last_response_ends_what_its_events_have_not(late: str) -> None:
    events = client_events(new_turn(), LATE[late](answer(*ITEMS)))
    done = [event["item"] for event in events if event["type"] == DONE]
    assert done == events[-1]["response"]["output"]
    assert [(item["type"], item.get("arguments")) for item in done] == [
        ("reasoning", None),
        ("message", None),
        ("function_call", '{"a":1}'),
        ("function_call", "{}"),
    ]
    assert [event["output_index"] for event in events if event["type"] == DONE] == [0, 1, 2, 3]
    begun = [event for event in events if event["type"] == "response.output_item.added"]
    assert [event["output_index"] for event in begun] == [0, 1, 2, 3]
    assert begun[2]["item"]["arguments"] == ""


@pytest.mark.parametrize("late", ["no events of items", "no end of an item"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_calls_of_bridged_tools_are_ended_too(case: Case, late: str) -> None:
    made = call("fc_1", "call_1", case.function, case.arguments)
    events = client_events(on_functions(tool_of(case), {"type": "custom", "name": "other"}), LATE[late](answer(made)))
    if case.item["type"] != "function_call":  # of these, the end of the arguments is missing
        check(events)
    item = events[-1]["response"]["output"][0]
    assert {key: item.get(key) for key in case.item} == case.item
    assert [event["item"] for event in events if event["type"] == DONE] == [item]


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_no_call_of_an_answer_that_is_not_complete_is_ended(status: str) -> None:
    events = answer(CALL, status=status, incomplete_details={"reason": "max_output_tokens"})
    received = client_events(new_turn(), [*begins(), json.loads(json.dumps(events[-1]))])
    assert [event for event in received if event["type"] == DONE] == []


def test_there_is_an_end_to_it() -> None:
    """The events are made at once: others wait for them."""
    many = [call(f"fc_{at}", f"call_{at}", "f", "{}") for at in range(MOST_LATE + 10)]
    events = client_events(new_turn(), LATE["no events of items"](answer(*many)))
    assert sum(event["type"] == DONE for event in events) == MOST_LATE
    assert len(events[-1]["response"]["output"]) == MOST_LATE + 10


def test_items_keep_their_ids_where_the_last_response_has_them_in_another_order() -> None:
    """As transformers, which also gives the call and the message one position."""
    made = {"type": "function_call", "id": "c1", "call_id": "c1", "name": "patch", "arguments": '{"input": "x"}'}
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": []}
    events = [
        event
        for item in (made, said)
        for event in (
            {"type": "response.output_item.added", "output_index": 1, "item": {**item}},
            {"type": DONE, "output_index": 1, "item": {**item}},
        )
    ]
    last = {**answer()[-1]["response"], "output": [said, made]}
    relayed = on_functions({"type": "custom", "name": "patch"})
    sent = client_events(relayed, [*begins(), *events, {"type": "response.completed", "response": last}])
    done = [event["item"] for event in sent if event["type"] == DONE]
    assert [(item["type"], item.get("input")) for item in done] == [("custom_tool_call", "x"), ("message", None)]
    assert sorted(sent[-1]["response"]["output"], key=done.index) == done
