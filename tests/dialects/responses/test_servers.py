"""Servers that speak Responses in ways of their own: what a client is told is whole, whoever is behind the relay."""

from collections.abc import Callable
from typing import Any

import pytest

from app.protocol.problems import Problem
from tests.support.relay_turns import CREATED_AT, Json, client_events, new_turn, plain
from tests.wire.consumer import check_consumed
from tests.wire.grammar import check
from tests.wire.servers.responses import ScriptedItem, answer, call, message, reasoning
from tests.wire.servers.responses_like import all_at_zero, codex_backend, copilot, llama_cpp, transformers, vllm

ITEMS = [
    reasoning("rs_0", "h", "m"),
    message("msg_1", "Hel", "lo"),
    call("fc_2", "call_2", "weather", '{"city"', ":1}"),
    call("fc_3", "call_3", "weather", '{"city"', ":2}"),
]
PIECES = [("thought", "hm"), ("text", "Hello"), ("weather", '{"city":1}'), ("weather", '{"city":2}')]
SERVERS = [all_at_zero, codex_backend, copilot, llama_cpp, transformers, vllm]
BROKE = Problem(code="upstream_error", message="It broke.")


def pieces(events: list[Json]) -> list[tuple[str, ...]]:
    """Without the ids of calls, which are each server's own."""
    return [piece if piece[0] != "call" else piece[2:] for piece in check_consumed(events).pieces]


def ids(events: list[Json]) -> dict[Any, set[str]]:
    """The ids that were told of each item, and of the response."""
    found: dict[Any, set[str]] = {"response": set()}
    for event in events:
        index = event.get("output_index")
        for entry in (event.get("item_id"), event.get("item", {}).get("id")):
            if entry is not None:
                found.setdefault(index, set()).add(entry)
        if "response" in event:
            found["response"].add(event["response"]["id"])
            for position, item in enumerate(event["response"]["output"]):
                found.setdefault(position, set()).add(item["id"])
    return found


@pytest.mark.parametrize("ids_are", ["am", "keep"])
@pytest.mark.parametrize("like", SERVERS)
def test_the_same_answer_comes_out_whole_and_under_one_id(
    like: Callable[[list[Json]], list[Json]], ids_are: str
) -> None:
    events = client_events(new_turn(ids=ids_are), like(answer(*ITEMS)))
    if ids_are == "am":
        check(events)
    assert pieces(events) == PIECES
    found = ids(events)
    assert [len(names) for names in found.values()] == [1] * 5
    assert len(set.union(*found.values())) == 5
    assert all(event["response"]["created_at"] == CREATED_AT for event in events if "response" in event)


def test_items_at_one_position_may_grow_at_the_same_time() -> None:
    [*begun, begin, one, two, _, done] = all_at_zero(answer(ITEMS[2]))[:-1]
    [*_, other_begin, other_one, other_two, _, other_done] = all_at_zero(answer(ITEMS[3]))[:-1]
    growing = [begin, one, other_begin, other_one, two, other_two, done, other_done, done]
    events = client_events(new_turn(), [*begun, *growing, answer(*ITEMS[2:])[-1]])
    assert [(event["output_index"], event["delta"]) for event in events if "delta" in event] == [
        (0, '{"city"'),
        (1, '{"city"'),
        (0, ":1}"),
        (1, ":2}"),
    ]
    done_at = [
        (event["output_index"], event["item"]["call_id"]) for event in events if event["type"].endswith("m.done")
    ]
    assert done_at == [(0, "call_2"), (1, "call_3"), (0, "call_2")]


@pytest.mark.parametrize("like", SERVERS)
def test_what_was_told_is_kept_when_the_server_dies(like: Callable[[list[Json]], list[Json]]) -> None:
    events = like(answer(*ITEMS))
    text = next(place for place, event in enumerate(events) if event["type"].endswith("output_text.delta"))
    turn = new_turn()
    received = client_events(turn, events[: text + 1]) + plain(turn.fail(BROKE))
    check(received)
    assert [item["type"] for item in received[-1]["response"]["output"]] == ["reasoning", "message"]
    assert received[-1]["response"]["output"][1]["content"][0]["text"] == "Hel"
    assert received[-1]["response"]["output"][1]["status"] == "incomplete"


@pytest.mark.parametrize("like", [llama_cpp, copilot, vllm, codex_backend])
def test_text_that_a_limit_cut_is_incomplete(like: Callable[[list[Json]], list[Json]]) -> None:
    item = message("msg_1", "Hel")
    item.done["status"] = "incomplete"
    events = client_events(
        new_turn(), like(answer(item, status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    )
    check(events)
    assert (events[-1]["type"], events[-1]["response"]["status"]) == ("response.incomplete", "incomplete")


@pytest.mark.parametrize("arguments", ['{"city', "", " \n"], ids=["half", "nothing", "white space"])
def test_a_call_that_is_told_as_done_and_was_cut_is_incomplete(arguments: str) -> None:
    """So vLLM does: it closes what it was writing at the limit as if it were whole."""
    cut = call("fc_1", "call_1", "weather", arguments)
    cut.done["status"] = "incomplete"
    limit = {"reason": "max_output_tokens"}
    events = client_events(new_turn(), vllm(answer(cut, status="incomplete", incomplete_details=limit)))
    check(events)
    assert check_consumed(events).calls == []
    assert [item["status"] for item in events[-1]["response"]["output"]] == ["incomplete"]


def test_a_part_that_was_never_begun_is_begun_and_closed() -> None:
    """llama.cpp tells of raw thoughts by their deltas alone."""
    born = {"id": "rs_1", "type": "reasoning", "status": "in_progress", "summary": [], "content": []}
    whole = [{"type": "reasoning_text", "text": "hm"}]
    events = answer()
    events[2:2] = [
        {"type": "response.output_item.added", "item": born},
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "h"},
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "m"},
        {"type": "response.output_item.done", "item": {**born, "status": "completed", "content": whole}},
    ]
    events[-1]["response"]["output"] = [{**born, "status": "completed", "content": whole}]
    received = client_events(new_turn(), events)
    check(received)
    assert check_consumed(received).pieces == [("thought", "hm")]


def test_prose_that_was_never_closed_is_closed_before_the_last_event() -> None:
    events = answer(message("msg_1", "Hel", "lo"))
    del events[5:9]
    events[-1]["response"]["output"] = []
    received = client_events(new_turn(), events)
    check(received)
    assert check_consumed(received).pieces == [("text", "Hel")]
    assert received[-1]["response"]["output"][0]["status"] == "completed"


def test_an_item_without_any_id_gets_one() -> None:
    item = message("", "Hi")
    events = answer(item)
    for event in events:
        event.pop("item_id", None)
        event.get("item", {}).pop("id", None)
    received = client_events(new_turn(), events)
    check(received)
    assert check_consumed(received).pieces == [("text", "Hi")]


def test_a_response_without_an_id_gets_one() -> None:
    events = answer(message("msg_1", "Hi"))
    for event in events:
        event.get("response", {}).pop("id", None)
    received = client_events(new_turn(), events)
    assert {event["response"]["id"] for event in received if "response" in event} == {"resp_AM-1"}


BARE = {"object": "response", "status": "in_progress"}


@pytest.mark.parametrize("first", [BARE, {**BARE, "output": None}, {**BARE, "id": "resp_1", "created_at": 5}])
def test_what_the_first_response_leaves_out_is_supplied_from_the_request(first: Json) -> None:
    """Clients append to `output` from the first event on."""
    events = answer(message("msg_1", "Hi"))
    events[0]["response"], events[1]["response"] = dict(first), dict(first)
    events[-1]["response"] = {"status": "completed", "output": events[-1]["response"]["output"], "usage": None}
    received = client_events(new_turn(body={"temperature": 0.5}), events)
    check(received)
    assert [event["response"]["output"] for event in received[:2]] == [[], []]
    assert {event["response"]["temperature"] for event in received if "response" in event} == {0.5}
    assert received[-1]["response"]["completed_at"] == CREATED_AT


@pytest.mark.parametrize(
    ("content", "key", "empty"),
    [
        (message("msg_1", "Hi"), "content", []),
        (reasoning("rs_1", "hm"), "summary", []),
        (call("fc_1", "call_1", "weather", "{}"), "arguments", ""),
    ],
)
def test_an_item_begins_with_what_clients_append_to(content: ScriptedItem, key: str, empty: Any) -> None:
    del content.born[key]
    events = client_events(new_turn(), answer(content))
    check(events)
    assert events[2]["item"][key] == empty


def final(output: list[Json], like: Callable[[list[Json]], list[Json]] = transformers) -> list[tuple[str, str]]:
    """Types and ids of the final response, where the server's own has this output."""
    events = answer(*ITEMS)
    events[-1]["response"]["output"] = output
    received = client_events(new_turn(), like(events))
    check(received)
    found = ids(received)
    assert [len(names) for names in found.values()] == [1] * 5
    return [(item["type"], item.get("call_id", "")) for item in received[-1]["response"]["output"]]


ALL = [("reasoning", ""), ("message", ""), ("function_call", "call_2"), ("function_call", "call_3")]


@pytest.mark.parametrize("kept", [[], [0], [1], [3], [0, 2], [1, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("like", [transformers, copilot], ids=["same ids", "other ids"])
def test_items_that_the_final_response_leaves_out_are_added_in_their_order(
    kept: list[int], like: Callable[[list[Json]], list[Json]]
) -> None:
    assert final([ITEMS[place].done for place in kept], like) == ALL


def test_an_item_of_an_unknown_type_that_only_the_final_response_has_comes_last() -> None:
    events = answer(*ITEMS)
    output = [ITEMS[0].done, {"id": "x_1", "type": "of_tomorrow"}, ITEMS[2].done]
    events[-1]["response"]["output"] = output
    received = client_events(new_turn(), events)
    kinds = ["reasoning", "message", "function_call", "function_call", "of_tomorrow"]
    assert [item["type"] for item in received[-1]["response"]["output"]] == kinds
    assert [event["item"]["type"] for event in received if event["type"] == "response.output_item.done"] == kinds


@pytest.mark.parametrize("odd", [None, "x", [], {}, {"id": []}, {"id": {}, "type": []}, {"type": "function_call"}])
@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_final_response_of_nonsense_is_no_trouble(odd: Any, status: str) -> None:
    events = answer(message("msg_1", "Hi"), status=status)
    events[-1]["response"]["output"] = [odd, odd]
    received = client_events(new_turn(), events)
    assert received[-1]["type"] == f"response.{status}"
    assert [item["id"] for item in received[-1]["response"]["output"] if isinstance(item, dict) and "role" in item] == [
        "msg_AM-1"
    ]
