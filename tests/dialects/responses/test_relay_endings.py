"""How a relayed answer ends: whole, broken off, failed, or cut by a limit."""

import json

import pytest

from app.protocol.events import Ending
from app.protocol.problems import Problem
from app.protocol.response import IncompleteDetails, ResponseError
from tests.support.relay_turns import (
    BROKE,
    FULL_ANSWER,
    HELLO,
    Json,
    begun_answer,
    client_events,
    failed,
    last,
    marked,
    new_turn,
    plain,
)
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check
from tests.wire.servers.responses import (
    ScriptedItem,
    answer,
    begins,
    call,
    ends,
    items,
    message,
    numbered,
)

BUSY = Problem(code="rate_limit_exceeded", message="Too much to do.", retry_after=7)


def test_a_break_closes_the_text_that_was_open_and_fails() -> None:
    turn = new_turn()
    before = client_events(turn, begun_answer(HELLO)[:5])
    part = {"type": "output_text", "text": "Hel", "annotations": []}
    item = {**HELLO.done, "id": "msg_AM-1", "status": "incomplete", "content": [part]}
    spot = {"item_id": "msg_AM-1", "output_index": 0, "content_index": 0}
    expected = [
        {"type": "response.output_text.done", **spot, "text": "Hel", "logprobs": []},
        {"type": "response.content_part.done", **spot, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        failed(item),
    ]
    after = plain(turn.fail(BROKE))
    assert after == numbered(before + expected)[len(before) :]
    assert (turn.over, turn.problem) == (True, BROKE)
    check(before + after)
    judge(before + after)


def test_a_call_that_is_open_is_forgotten_and_what_was_done_is_kept() -> None:
    """A client runs a call as soon as it is done."""
    turn = new_turn()
    client_events(turn, [*begun_answer(HELLO), *[{**event, "output_index": 1} for event in items(FULL_ANSWER[2])[:3]]])
    assert [event["type"] for event in plain(turn.fail(BROKE))] == ["response.failed"]


def test_a_stream_that_ends_without_a_last_event_was_cut() -> None:
    turn = new_turn()
    client_events(turn, begins())
    (last,) = plain(turn.end())
    assert last["response"]["error"] == {
        "code": "server_error",
        "message": "The model's server ended its answer without saying why: it was cut off.",
        "type": "server_error",
    }


LENGTHS = [
    length
    for length, event in enumerate([{"type": ""}, *answer(*FULL_ANSWER)][:-1])
    # a thought or a text of which nothing was said is closed too, though we ourselves would never have opened it
    if not event["type"].endswith(".added") or event.get("item", {}).get("type") == "function_call"
]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("silent", [True, False])
def test_a_stream_that_is_cut_anywhere_fails_and_never_completes(length: int, *, silent: bool) -> None:
    turn = new_turn()
    events = client_events(turn, answer(*FULL_ANSWER)[:length])
    if silent:
        events += plain(turn.keep_alive())
    events += plain(turn.fail(BUSY))
    check(events)
    judge(events)
    assert events[-1]["response"]["error"]["message"] == "Too much to do. Please try again in 7s."


def test_citations_and_probabilities_of_a_text_that_was_cut_are_kept() -> None:
    cited = {
        "type": "response.output_text.annotation.added",
        "annotation_index": 0,
        "annotation": {"type": "file_path"},
    }
    spot = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    delta = {"type": "response.output_text.delta", **spot, "delta": "!", "logprobs": [{"token": "!"}]}
    turn = new_turn()
    client_events(turn, [*begun_answer(HELLO)[:5], {**cited, **spot}, delta])
    events = plain(turn.fail(BROKE))
    assert events[0]["logprobs"] == [{"token": "!"}]
    assert events[2]["item"]["content"] == [
        {
            "type": "output_text",
            "text": "Hel!",
            "annotations": [{"type": "file_path"}],
            "logprobs": [{"token": "!"}],
        }
    ]


def test_a_failure_of_the_upstreams_own_passes_and_is_a_problem() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Slow down."}
    turn = new_turn()
    events = client_events(turn, [*begins(), ends(status="failed", error=error)])
    assert events[-1]["response"]["error"] == error
    assert turn.problem == Problem(code="rate_limit_exceeded", message="Slow down.", retry_after=5)


@pytest.mark.parametrize(
    "event",
    [{}, {"type": 1}, {"choices": []}, {"type": "error"}, {"type": "response.completed", "response": None}],
)
def test_what_is_no_event_of_a_response_ends_the_turn(event: Json) -> None:
    turn = new_turn()
    events = client_events(turn, [*begins(), event])
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["message"] == (
        "The model's server sent something that is no event of a response."
    )


@pytest.mark.parametrize("fields", [{"usage": {"tokens": 1}}, {"usage": "\ud800"}, {"error": {"code": "\ud800"}}])
def test_an_end_in_an_unusual_form_is_no_trouble(fields: Json) -> None:
    events = answer(HELLO, usage=None)
    events[-1]["response"] |= fields
    assert last(events).response == Ending(status="completed")


def test_codex_keeps_an_answer_that_ends_incomplete() -> None:
    """It throws away what ends with `response.incomplete`."""
    events = answer(HELLO, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    last_event = last(events, for_codex=True)
    assert (last_event.name, json.loads(last_event.data)["type"]) == (b"response.completed", "response.completed")
    assert (last_event.response.status, json.loads(last_event.body)["status"]) == ("incomplete", "incomplete")


def cut_call(status: str = "incomplete") -> ScriptedItem:
    """A call whose arguments end in the middle. Some servers call it completed, and say that its arguments are done."""
    between, born, done = call("fc_1", "call_1", "run", '{"a')
    return ScriptedItem(between, born, {**done, "status": status})


LIMIT = {"reason": "max_output_tokens"}


@pytest.mark.parametrize("content", ["incomplete", "completed"])
@pytest.mark.parametrize("name", ["response.incomplete", "response.completed"], ids=["named", "misnamed"])
def test_a_call_that_a_limit_cut_is_never_completed(content: str, name: str) -> None:
    events = answer(HELLO, cut_call(content), status="incomplete", incomplete_details=LIMIT)
    events[-1]["type"] = name
    received = client_events(new_turn(), events)
    assert received[-1]["type"] == "response.incomplete"
    assert [item["status"] for item in received[-1]["response"]["output"]] == ["completed", "incomplete"]
    assert (received[-2]["type"], received[-2]["item"]) == (
        "response.output_item.done",
        received[-1]["response"]["output"][1],
    )
    assert "response.function_call_arguments.done" not in [event["type"] for event in received]
    check(received)


@pytest.mark.parametrize("behind", [[], [message("msg_2", "Oops.")]], ids=["at the end", "in the middle"])
@pytest.mark.parametrize("for_codex", [True, False])
def test_broken_arguments_that_no_limit_cut_pass_as_they_are(behind: list[ScriptedItem], *, for_codex: bool) -> None:
    """The model wrote them so. They wait until something else is told, which shows that nothing was cut."""
    events = answer(cut_call("completed"), *behind)
    assert client_events(new_turn(for_codex=for_codex), events) == marked(events)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status": "x" * 1000}, Ending(status="completed")),
        ({"status": ["completed"]}, Ending(status="completed")),
        ({"usage": {"input_tokens": 10**400, "output_tokens": 1, "total_tokens": 1}}, Ending(status="completed")),
        ({"usage": {"input_tokens": -1, "output_tokens": 1, "total_tokens": 1}}, Ending(status="completed")),
        (
            {"error": {"code": "c" * 1000, "message": "m" * 1000}},
            Ending(status="completed", error=ResponseError(code="c" * 64, message="m" * 500)),
        ),
        (
            {"incomplete_details": {"reason": "steered"}},
            Ending(status="completed", incomplete_details=IncompleteDetails(reason="steered")),
        ),
        (
            {"incomplete_details": {"reason": "r" * 1000}},
            Ending(status="completed", incomplete_details=IncompleteDetails(reason="r" * 64)),
        ),
        ({"incomplete_details": {"reason": 5}}, Ending(status="completed")),
    ],
)
def test_nothing_that_an_upstream_says_of_its_end_is_believed_blindly(fields: Json, expected: Ending) -> None:
    events = answer(HELLO, usage=None)
    events[-1]["response"] |= fields
    assert last(events).response == expected


ZEROS = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize("usage", [ZEROS, {}, {**ZEROS, "input_tokens_details": {"cached_tokens": 0}}, None])
def test_a_usage_of_zeros_is_no_count(usage: Json | None) -> None:
    last_event = last(answer(HELLO, usage=usage))
    assert (json.loads(last_event.body)["usage"], last_event.response) == (None, Ending(status="completed"))
