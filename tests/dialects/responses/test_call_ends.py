"""The end of a call that a limit may have cut: withheld until it is known, and never sent as that of a whole call."""

from typing import Any

import pytest

from app.emitter.rules import CUT_IN_A_CALL
from tests.support.relay_turns import Json, client_events, new_turn, plain
from tests.wire.grammar import check
from tests.wire.servers.responses import ScriptedItem, answer, begins, call, message

LIMIT = {"reason": "max_output_tokens"}
HALF = "*** Begin Patch\n*** Delete File: a"


def custom(item_id: str = "ctc_1", text: str = HALF, status: str = "completed") -> ScriptedItem:
    """A call of a custom tool, as vLLM ends it at a limit: as if it were whole."""
    born = {"id": item_id, "type": "custom_tool_call", "status": "in_progress", "call_id": item_id, "name": "patch"}
    kind = "response.custom_tool_call_input"
    between = [{"type": f"{kind}.delta", "delta": text}, {"type": f"{kind}.done", "input": text}]
    return ScriptedItem(between, {**born, "input": ""}, {**born, "input": text, "status": status})


def broken(status: str = "completed") -> ScriptedItem:
    """A call of a function whose arguments end in the middle."""
    between, born, done = call("fc_1", "call_1", "run", '{"a')
    return ScriptedItem(between, born, {**done, "status": status})


def ended(events: list[Json]) -> list[tuple[str, str]]:
    """The ends of items that a client acts on, and the status each has."""
    return [
        (event["type"].removeprefix("response."), event.get("item", {}).get("status", ""))
        for event in events
        if event["type"].endswith(("item.done", "input.done", "arguments.done"))
    ]


def statuses(events: list[Json]) -> list[str]:
    return [item["status"] for item in events[-1]["response"]["output"]]


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("name", ["response.incomplete", "response.completed"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_custom_call_that_a_limit_cut_is_incomplete(status: str, name: str, *, listed: bool) -> None:
    events = answer(custom(status=status), status="incomplete", incomplete_details=LIMIT)
    events[-1]["type"] = name
    if not listed:
        events[-1]["response"]["output"] = []
    received = client_events(new_turn(), events)
    check(received)
    assert ended(received) == [("output_item.done", "incomplete")]
    assert (received[-1]["type"], statuses(received)) == ("response.incomplete", ["incomplete"])
    turn = new_turn(for_codex=True)
    received = client_events(turn, events)
    assert (ended(received), received[-1]["type"], turn.problem) == ([], "response.failed", CUT_IN_A_CALL)


@pytest.mark.parametrize("for_codex", [True, False])
@pytest.mark.parametrize("behind", [[], [message("msg_2", "Done.")], [custom("ctc_2", "whole")]])
def test_a_custom_call_of_a_whole_answer_passes_in_its_order(behind: list[ScriptedItem], *, for_codex: bool) -> None:
    events = answer(custom(text="whole"), *behind)
    assert [event["type"] for event in client_events(new_turn(for_codex=for_codex), events)] == [
        e["type"] for e in events
    ]


@pytest.mark.parametrize("for_codex", [True, False])
@pytest.mark.parametrize("cut", [broken(), custom()], ids=["function", "custom"])
def test_a_call_with_more_of_the_answer_behind_it_keeps_the_status_it_was_sent_with(
    cut: ScriptedItem, *, for_codex: bool
) -> None:
    """The limit cut what came last: the call is as the model wrote it, in the events and in the final response."""
    events = answer(cut, message("msg_2", "Oo"), status="incomplete", incomplete_details=LIMIT)
    output = events[-1]["response"]["output"]
    events[-1]["response"]["output"] = [{**output[0], "status": "incomplete"}, *output[1:]]
    turn = new_turn(for_codex=for_codex)
    received = client_events(turn, events)
    assert ("output_item.done", "completed") in ended(received)
    assert (turn.problem, received[-1]["response"]["status"]) == (None, "incomplete")
    assert statuses(received)[0] == "completed"


@pytest.mark.parametrize("cut", [broken("incomplete"), custom(status="incomplete")], ids=["function", "custom"])
def test_a_call_that_its_server_calls_incomplete_is_so_whatever_follows(cut: ScriptedItem) -> None:
    events = answer(cut, message("msg_2", "Oo"), status="incomplete", incomplete_details=LIMIT)
    received = client_events(new_turn(), events)
    assert ended(received)[0] == ("output_item.done", "incomplete")
    turn = new_turn(for_codex=True)
    received = client_events(turn, events)
    assert "completed" not in [status for kind, status in ended(received) if kind == "output_item.done"][:-1]
    assert (turn.problem, [item["type"] for item in received[-1]["response"]["output"]]) == (CUT_IN_A_CALL, ["message"])


def test_a_sign_of_life_of_the_upstream_is_no_more_of_the_answer() -> None:
    events = answer(custom(), status="incomplete", incomplete_details=LIMIT)
    events.insert(-1, begins()[1])
    assert ended(client_events(new_turn(), events)) == [("output_item.done", "incomplete")]


def test_an_end_that_is_repeated_is_not_collected() -> None:
    """What is withheld is two events at the most, however many an upstream sends."""
    again: Json = {"type": "response.custom_tool_call_input.done", "output_index": 0, "item_id": "ctc_1", "input": "a"}
    turn = new_turn()
    result: list[Any] = []
    for event in [*answer(custom())[:4], *[dict(again) for _ in range(100)]]:
        result += turn.receive(event)
    assert len([event for event in plain(result) if event["type"] == again["type"]]) == 99


def test_an_end_that_is_withheld_is_forgotten_when_the_upstream_breaks() -> None:
    turn = new_turn()
    events = client_events(turn, answer(custom(text="whole"))[:-1]) + plain(turn.end())
    assert (ended(events), events[-1]["type"], events[-1]["response"]["output"]) == ([], "response.failed", [])
