"""Servers that speak Responses in ways of their own: what a client is told is whole, whoever is behind the relay."""

from collections.abc import Callable
from typing import Any

import pytest

from app.protocol.problems import Problem
from tests.consumer import check_heard
from tests.dialects.responses.relaying import CREATED_AT, Json, heard, new_turn, plain
from tests.grammar import check
from tests.upstream.responses import answer, call, message, reasoning
from tests.upstream.responses_like import codex_backend, copilot, llama_cpp, transformers, vllm

SAID = [
    reasoning("rs_0", "h", "m"),
    message("msg_1", "Hel", "lo"),
    call("fc_2", "call_2", "weather", '{"city"', ":1}"),
    call("fc_3", "call_3", "weather", '{"city"', ":2}"),
]
PIECES = [("thought", "hm"), ("text", "Hello"), ("weather", '{"city":1}'), ("weather", '{"city":2}')]
SERVERS = [codex_backend, copilot, llama_cpp, transformers, vllm]
BROKE = Problem(code="upstream_error", message="It broke.")


def pieces(events: list[Json]) -> list[tuple[str, ...]]:
    """Without the ids of calls, which are each server's own."""
    return [piece if piece[0] != "call" else piece[2:] for piece in check_heard(events).pieces]


def ids(events: list[Json]) -> dict[Any, set[str]]:
    """The ids that were told of each item, and of the response."""
    found: dict[Any, set[str]] = {"response": set()}
    for event in events:
        index = event.get("output_index")
        for told in (event.get("item_id"), event.get("item", {}).get("id")):
            if told is not None:
                found.setdefault(index, set()).add(told)
        if "response" in event:
            found["response"].add(event["response"]["id"])
            for seat, item in enumerate(event["response"]["output"]):
                found.setdefault(seat, set()).add(item["id"])
    return found


@pytest.mark.parametrize("ids_are", ["am", "keep"])
@pytest.mark.parametrize("like", SERVERS)
def test_the_same_answer_comes_out_whole_and_under_one_id(
    like: Callable[[list[Json]], list[Json]], ids_are: str
) -> None:
    told = heard(new_turn(ids=ids_are), like(answer(*SAID)))
    if ids_are == "am":
        check(told)
    assert pieces(told) == PIECES
    found = ids(told)
    assert [len(names) for names in found.values()] == [1] * 5
    assert len(set.union(*found.values())) == 5
    assert all(event["response"]["created_at"] == CREATED_AT for event in told if "response" in event)


@pytest.mark.parametrize("like", SERVERS)
def test_what_was_told_is_kept_when_the_server_dies(like: Callable[[list[Json]], list[Json]]) -> None:
    events = like(answer(*SAID))
    text = next(place for place, event in enumerate(events) if event["type"].endswith("output_text.delta"))
    turn = new_turn()
    told = heard(turn, events[: text + 1]) + plain(turn.fail(BROKE))
    check(told)
    assert [item["type"] for item in told[-1]["response"]["output"]] == ["reasoning", "message"]
    assert told[-1]["response"]["output"][1]["content"][0]["text"] == "Hel"
    assert told[-1]["response"]["output"][1]["status"] == "incomplete"


@pytest.mark.parametrize("like", [llama_cpp, copilot, vllm, codex_backend])
def test_text_that_a_limit_cut_is_incomplete(like: Callable[[list[Json]], list[Json]]) -> None:
    said = message("msg_1", "Hel")
    said.done["status"] = "incomplete"
    told = heard(
        new_turn(), like(answer(said, status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    )
    check(told)
    assert (told[-1]["type"], told[-1]["response"]["status"]) == ("response.incomplete", "incomplete")


@pytest.mark.parametrize("arguments", ['{"city', "", " \n"], ids=["half", "nothing", "white space"])
def test_a_call_that_is_told_as_done_and_was_cut_is_incomplete(arguments: str) -> None:
    """So vLLM does: it closes what it was writing at the limit as if it were whole."""
    cut = call("fc_1", "call_1", "weather", arguments)
    cut.done["status"] = "incomplete"
    limit = {"reason": "max_output_tokens"}
    told = heard(new_turn(), vllm(answer(cut, status="incomplete", incomplete_details=limit)))
    check(told)
    assert check_heard(told).calls == []
    assert [item["status"] for item in told[-1]["response"]["output"]] == ["incomplete"]


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
    told = heard(new_turn(), events)
    check(told)
    assert check_heard(told).pieces == [("thought", "hm")]


def test_prose_that_was_never_closed_is_closed_before_the_last_event() -> None:
    events = answer(message("msg_1", "Hel", "lo"))
    del events[5:9]
    events[-1]["response"]["output"] = []
    told = heard(new_turn(), events)
    check(told)
    assert check_heard(told).pieces == [("text", "Hel")]
    assert told[-1]["response"]["output"][0]["status"] == "completed"


def test_an_item_without_any_id_gets_one() -> None:
    said = message("", "Hi")
    events = answer(said)
    for event in events:
        event.pop("item_id", None)
        event.get("item", {}).pop("id", None)
    told = heard(new_turn(), events)
    check(told)
    assert check_heard(told).pieces == [("text", "Hi")]


def test_a_response_without_an_id_gets_one() -> None:
    events = answer(message("msg_1", "Hi"))
    for event in events:
        event.get("response", {}).pop("id", None)
    told = heard(new_turn(), events)
    assert {event["response"]["id"] for event in told if "response" in event} == {"resp_AM-1"}
