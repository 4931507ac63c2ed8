"""A relay: everything passes, numbered anew; where the upstream falls silent or breaks off, the end is honest."""

import json
from copy import deepcopy
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent

from app.dialects.responses.marked_seals import marked_seal, tag_of
from app.protocol.events import Ending, RelayedItem, RelayedLast
from app.protocol.problems import Problem
from app.protocol.response import IncompleteDetails, ResponseError, Usage
from tests.support.consumer import check_heard
from tests.support.grammar import check
from tests.support.judges import judge
from tests.support.relay_turns import CREATED_AT, Json, heard, new_turn, plain
from tests.support.servers.responses import (
    Said,
    answer,
    begins,
    call,
    ends,
    hosted,
    items,
    message,
    numbered,
    reasoning,
    response,
)

HELLO = message("msg_1", "Hel", "lo")
WHOLE = [reasoning("rs_0", "hm"), HELLO, call("fc_2", "call_1", "weather", '{"city"', ":1}")]
BROKE = Problem(code="upstream_error", message="It broke.")
BUSY = Problem(code="rate_limit_exceeded", message="Too much to do.", retry_after=7)


def marked(events: list[Json]) -> list[Json]:
    """The same events as this server tells them: its mark in every id, the model's public name."""
    told: list[Json] = json.loads(json.dumps(events))  # no item is the same as that of the last event
    for event in told:
        for item in [event.get("item"), *event.get("response", {}).get("output", [])]:
            if item is not None:
                item["id"] = item["id"].replace("_", "_AM-")
                if "encrypted_content" in item:
                    item["encrypted_content"] = marked_seal(item["encrypted_content"], tag_of(""))
        if "item_id" in event:
            event["item_id"] = event["item_id"].replace("_", "_AM-")
        if "response" in event:
            event["response"] |= {"id": "resp_AM-68ab", "model": "public"}
    return told


def test_an_answer_passes_with_our_mark_and_the_public_name() -> None:
    told = heard(new_turn(), answer(*WHOLE))
    assert told == marked(answer(*WHOLE))
    check(told)
    judge(told)
    check_heard(told)


def test_where_ids_are_kept_only_the_model_is_renamed() -> None:
    expected = json.loads(json.dumps(answer(*WHOLE)).replace("gpt-5-2025-08-07", "public"))
    assert heard(new_turn(ids="keep"), answer(*WHOLE)) == expected


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
    assert heard(new_turn(), events) == marked(events)


def test_hosted_tools_pass_with_all_their_events() -> None:
    search = hosted("web_search_call", "ws_1", "in_progress", "searching", "completed", action={"type": "search"})
    image = hosted("image_generation_call", "ig_1", "in_progress", "generating", "completed", result="AAAA")
    code = hosted("code_interpreter_call", "ci_1", "in_progress", "interpreting", "completed", code="1", outputs=[])
    code.between.insert(1, {"type": "response.code_interpreter_call_code.delta", "delta": "1"})
    events = answer(search, image, code, HELLO)
    assert heard(new_turn(), events) == marked(events)


def test_numbers_are_ours_whatever_the_upstream_counts() -> None:
    events = [{**event, "sequence_number": 7} for event in answer(HELLO)]
    del events[3]["sequence_number"]
    assert [event["sequence_number"] for event in heard(new_turn(), events)] == list(range(len(events)))


def test_half_characters_pass_as_they_came() -> None:
    """Some servers split an emoji between two deltas; JSON can say that, UTF-8 cannot."""
    events = answer(message("msg_1", "\ud83d", "\ude00"))
    told = heard(new_turn(), events)
    assert [event["delta"] for event in told if event["type"].endswith(".delta")] == ["\ud83d", "\ude00"]


# Signs of life


def spoken(*said: Any) -> list[Json]:
    """An answer that has begun and goes on."""
    return [*begins(), *items(*said)]


NUDGES: list[tuple[list[Json], Json]] = [
    (begins(), {"type": "response.in_progress"}),
    (spoken(HELLO)[:3], {"type": "response.in_progress"}),
    (
        spoken(HELLO)[:5],
        {
            "type": "response.output_text.delta",
            "item_id": "msg_AM-1",
            "output_index": 0,
            "content_index": 0,
            "delta": "",
            "logprobs": [],
        },
    ),
    (spoken(HELLO)[:7], {"type": "response.in_progress"}),
    (
        spoken(WHOLE[0])[:5],
        {
            "type": "response.reasoning_summary_text.delta",
            "item_id": "rs_AM-0",
            "output_index": 0,
            "summary_index": 0,
            "delta": "",
        },
    ),
    (
        spoken(WHOLE[2])[:4],
        {"type": "response.function_call_arguments.delta", "item_id": "fc_AM-2", "output_index": 0, "delta": ""},
    ),
    (spoken(WHOLE[2])[:6], {"type": "response.in_progress"}),
    (spoken(hosted("web_search_call", "ws_1", "searching"))[:4], {"type": "response.in_progress"}),
    (spoken(HELLO), {"type": "response.in_progress"}),
]


@pytest.mark.parametrize(("events", "sign"), NUDGES, ids=range(len(NUDGES)))
def test_silence_is_filled_with_a_sign_of_life_that_fits(events: list[Json], sign: Json) -> None:
    turn = new_turn()
    done = [event["item"] for event in marked(events) if event["type"] == "response.output_item.done"]
    if sign["type"] == "response.in_progress":
        sign = {**sign, "response": marked(begins())[0]["response"] | {"output": done}}
    told = heard(turn, events)
    assert plain(turn.keep_alive()) == [{**sign, "sequence_number": len(told)}]


def test_signs_of_life_anywhere_leave_a_stream_that_is_whole() -> None:
    """No number is missing, nothing is out of order, and the client hears the same."""
    turn = new_turn()
    told = turn.begin()
    for event in answer(*WHOLE):
        told += turn.receive(deepcopy(event))
        told += [] if turn.over else turn.keep_alive()
    events = plain(told)
    check(events)
    judge(events)
    assert check_heard(events) == check_heard(heard(new_turn(), answer(*WHOLE)))


# In the upstream's stead


def test_an_upstream_that_keeps_the_client_waiting_is_spoken_for() -> None:
    """Its own beginning is then left out, and its response goes by the id that the client knows."""
    turn = new_turn(body={"temperature": 0.5})
    assert turn.begin() == []
    first = plain(turn.keep_alive())
    assert [event["type"] for event in first] == ["response.created", "response.in_progress"]
    assert first[0]["response"]["temperature"] == 0.5
    rest = heard(turn, answer(HELLO, temperature=0.5, reasoning=None, text={"format": {"type": "text"}}))
    assert [event["type"] for event in rest[:2]] == ["response.in_progress", "response.output_item.added"]
    last = rest[-1]["response"]
    assert (last["id"], last["created_at"]) == (first[0]["response"]["id"], CREATED_AT)
    assert [event["sequence_number"] for event in first + rest] == list(range(len(first + rest)))


def test_an_upstream_that_forgets_to_begin_is_spoken_for() -> None:
    events = numbered([*items(HELLO), ends(HELLO)])
    told = heard(new_turn(), events)
    assert [event["type"] for event in told[:3]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
    ]
    assert {event["response"]["id"] for event in told if "response" in event} == {"resp_AM-1"}


def test_the_second_word_is_said_where_the_upstream_forgets_it() -> None:
    events = answer(HELLO)
    assert heard(new_turn(), [events[0], *events[2:]]) == marked(events)


def test_beginning_twice_is_beginning_once() -> None:
    assert heard(new_turn(), [*begins()[:1], *answer(HELLO)]) == marked(answer(HELLO))


# Endings


def failed(*output: Json, problem: Problem = BROKE) -> Json:
    error = {"code": problem.shape.failed_code, "message": problem.failed_message}
    told = response(list(output), "failed", id="resp_AM-68ab", model="public", error=error, usage=None)
    return {"type": "response.failed", "response": told}


def test_a_break_closes_the_text_that_was_open_and_fails() -> None:
    turn = new_turn()
    before = heard(turn, spoken(HELLO)[:5])
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
    heard(turn, [*spoken(HELLO), *[{**event, "output_index": 1} for event in items(WHOLE[2])[:3]]])
    assert [event["type"] for event in plain(turn.fail(BROKE))] == ["response.failed"]


def test_a_stream_that_ends_without_a_last_event_was_cut() -> None:
    turn = new_turn()
    heard(turn, begins())
    (last,) = plain(turn.end())
    assert last["response"]["error"] == {
        "code": "server_error",
        "message": "The model's server ended its answer without saying why: it was cut off.",
    }


LENGTHS = [
    length
    for length, event in enumerate([{"type": ""}, *answer(*WHOLE)][:-1])
    # a thought or a text of which nothing was said is closed too, though we ourselves would never have opened it
    if not event["type"].endswith(".added") or event.get("item", {}).get("type") == "function_call"
]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("silent", [True, False])
def test_a_stream_that_is_cut_anywhere_fails_and_never_completes(length: int, *, silent: bool) -> None:
    turn = new_turn()
    events = heard(turn, answer(*WHOLE)[:length])
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
    heard(turn, [*spoken(HELLO)[:5], {**cited, **spot}, delta])
    told = plain(turn.fail(BROKE))
    assert told[0]["logprobs"] == [{"token": "!"}]
    assert told[2]["item"]["content"] == [
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
    told = heard(turn, [*begins(), ends(status="failed", error=error)])
    assert told[-1]["response"]["error"] == error
    assert turn.problem == Problem(code="rate_limit_exceeded", message="Slow down.", retry_after=5)


@pytest.mark.parametrize(
    "event",
    [{}, {"type": 1}, {"choices": []}, {"type": "error"}, {"type": "response.completed", "response": None}],
)
def test_what_is_no_event_of_a_response_ends_the_turn(event: Json) -> None:
    turn = new_turn()
    told = heard(turn, [*begins(), event])
    assert told[-1]["type"] == "response.failed"
    assert told[-1]["response"]["error"]["message"] == (
        "The model's server sent something that is no event of a response."
    )


NONSENSE = st.none() | st.integers(-1, 1) | st.sampled_from(["msg_1", "x", []]) | st.just({"type": "output_text"})
FIELDS = ["output_index", "content_index", "summary_index", "item", "part", "item_id", "delta", "text", "logprobs"]
ODD = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from([event["type"] for event in answer(*WHOLE)[2:-1]]),
    st.dictionaries(st.sampled_from(FIELDS), NONSENSE),
)


@given(st.lists(st.one_of(ODD, st.sampled_from(answer(*WHOLE)[2:-1]))))
def test_no_nonsense_of_an_upstream_breaks_the_relay(events: list[Json]) -> None:
    """It is passed on; the numbers are right, and the turn can be kept alive and ended."""
    turn = new_turn()
    events = [*events, {"type": "of.tomorrow"}]  # what may be the end of a cut call waits for something behind it
    told = heard(turn, [*begins(), *events]) + plain(turn.keep_alive()) + plain(turn.fail(BROKE))
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    names = iter(event["type"] for event in told)
    assert all(event["type"] in names for event in events), "all of them pass, in this order"


# What the rest of the server sees


def last(turn_events: list[Json], **turn: Any) -> RelayedLast:
    relay = new_turn(**turn)
    events = [event for raw in turn_events for event in relay.receive(deepcopy(raw))]
    assert isinstance(events[-1], RelayedLast)
    return events[-1]


def test_the_last_event_holds_the_body_and_what_the_log_wants() -> None:
    told = last(answer(HELLO))
    assert json.loads(told.body) == marked(answer(HELLO))[-1]["response"]
    assert told.response == Ending(status="completed", usage=Usage(input_tokens=7, output_tokens=5, total_tokens=12))
    cut = last(answer(HELLO, status="incomplete", incomplete_details={"reason": "max_output_tokens"}, usage=None))
    assert cut.response == Ending(status="incomplete", incomplete_details=IncompleteDetails(reason="max_output_tokens"))
    broke = last(answer(status="failed", error={"code": "x", "message": "y"}, usage=None))
    assert broke.response == Ending(status="failed", error=ResponseError(code="x", message="y"))


@pytest.mark.parametrize("fields", [{"usage": {"tokens": 1}}, {"usage": "\ud800"}, {"error": {"code": "\ud800"}}])
def test_an_end_in_an_unusual_form_is_no_trouble(fields: Json) -> None:
    events = answer(HELLO, usage=None)
    events[-1]["response"] |= fields
    assert last(events).response == Ending(status="completed")


def test_the_log_sees_when_the_first_item_came() -> None:
    turn = new_turn()
    events = [event for raw in spoken(HELLO)[:3] for event in turn.receive(raw)]
    assert [isinstance(event, RelayedItem) for event in events] == [False, False, True]


def test_codex_keeps_an_answer_that_ends_incomplete() -> None:
    """It throws away what ends with `response.incomplete`."""
    events = answer(HELLO, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    told = last(events, for_codex=True)
    assert (told.name, json.loads(told.data)["type"]) == (b"response.completed", "response.completed")
    assert (told.response.status, json.loads(told.body)["status"]) == ("incomplete", "incomplete")


def cut_call(status: str = "incomplete") -> Said:
    """A call whose arguments end in the middle. Some servers call it completed, and say that its arguments are done."""
    between, born, done = call("fc_1", "call_1", "run", '{"a')
    return Said(between, born, {**done, "status": status})


LIMIT = {"reason": "max_output_tokens"}


@pytest.mark.parametrize("said", ["incomplete", "completed"])
@pytest.mark.parametrize("name", ["response.incomplete", "response.completed"], ids=["named", "misnamed"])
def test_a_call_that_a_limit_cut_is_never_completed(said: str, name: str) -> None:
    events = answer(HELLO, cut_call(said), status="incomplete", incomplete_details=LIMIT)
    events[-1]["type"] = name
    told = heard(new_turn(), events)
    assert told[-1]["type"] == "response.incomplete"
    assert [item["status"] for item in told[-1]["response"]["output"]] == ["completed", "incomplete"]
    assert (told[-2]["type"], told[-2]["item"]) == ("response.output_item.done", told[-1]["response"]["output"][1])
    assert "response.function_call_arguments.done" not in [event["type"] for event in told]
    check(told)


@pytest.mark.parametrize("behind", [[], [message("msg_2", "Oops.")]], ids=["at the end", "in the middle"])
@pytest.mark.parametrize("for_codex", [True, False])
def test_broken_arguments_that_no_limit_cut_pass_as_they_are(behind: list[Said], *, for_codex: bool) -> None:
    """The model wrote them so. They wait until something else is told, which shows that nothing was cut."""
    events = answer(cut_call("completed"), *behind)
    assert heard(new_turn(for_codex=for_codex), events) == marked(events)


# What the log and the counters hold


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
        ({"incomplete_details": {"reason": "of_tomorrow"}}, Ending(status="completed")),
    ],
)
def test_nothing_that_an_upstream_says_of_its_end_is_believed_blindly(fields: Json, expected: Ending) -> None:
    events = answer(HELLO, usage=None)
    events[-1]["response"] |= fields
    assert last(events).response == expected


ZEROS = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize("usage", [ZEROS, {}, {**ZEROS, "input_tokens_details": {"cached_tokens": 0}}, None])
def test_a_usage_of_zeros_is_no_count(usage: Json | None) -> None:
    told = last(answer(HELLO, usage=usage))
    assert (json.loads(told.body)["usage"], told.response) == (None, Ending(status="completed"))
