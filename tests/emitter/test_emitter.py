"""The emitter as a whole: what the model wrote, and the stream that the client gets."""

import pytest

from app.emitter.call_register import MOST_NAMES
from app.emitter.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    Delta,
    ReasoningDelta,
    RefusalTextDelta,
    Stopped,
    TextDelta,
)
from app.emitter.emitter import Emitter
from app.emitter.ledger import MisuseError
from app.emitter.rules import CALL_NOT_OPEN, CUT, CUT_IN_SEVERAL_CALLS
from app.protocol.problems import Problem
from tests.support.emitters import COMPLETED_AT, COUNTED, END, FORBIDDEN, LENGTH, calls, new_emitter, plain, played
from tests.support.event_lines import event_lines
from tests.support.sample_answers import ANSWERS, CITATION, TOO_LONG
from tests.support.unfinished_answers import UNFINISHED
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

ALL = ANSWERS | UNFINISHED


@pytest.mark.parametrize(("deltas", "expected"), ALL.values(), ids=ALL.keys())
def test_every_answer_has_the_stream_that_the_rules_say(deltas: list[Delta], expected: list[str]) -> None:
    """One ordering rule or more in each."""
    events = played(*deltas)
    assert event_lines(events) == ["created", "in_progress", *expected]
    check(events)
    judge(events)
    check_consumed(events)


@pytest.mark.parametrize(("deltas", "expected"), ALL.values(), ids=ALL.keys())
def test_raw_reasoning_has_the_same_stream(deltas: list[Delta], expected: list[str]) -> None:
    """The setting changes the parts of a reasoning item, never the order of events."""
    events = played(*deltas, raw_reasoning=True)
    lines = [line.replace("summary_text", "reasoning_text") for line in ["created", "in_progress", *expected]]
    assert event_lines(events) == lines
    check(events)
    judge(events)
    check_consumed(events)


def test_the_last_event_carries_usage_and_time() -> None:
    """Usage and the clock go into the response of the last event, the items into its output."""
    created, *_, done, completed = played(COUNTED, TextDelta("Hi"), END)
    assert completed["response"] == created["response"] | {
        "status": "completed",
        "completed_at": COMPLETED_AT,
        "output": [done["item"]],
        "usage": {
            "input_tokens": 7,
            "output_tokens": 5,
            "total_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def test_log_probabilities_are_sent_with_each_delta_and_collected_in_the_part() -> None:
    """A part nobody asked log probabilities for has no such key."""
    first = {"token": "H", "logprob": -0.5, "bytes": [72], "top_logprobs": []}
    second = {"token": "i", "logprob": -0.1, "bytes": [105], "top_logprobs": []}
    events = played(TextDelta("H", [first]), TextDelta("i", [second]), END)
    check(events)
    judge(events)
    assert [event["logprobs"] for event in events if "logprobs" in event] == [[first], [second], [first, second]]
    part = {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": [first, second]}
    assert events[-1]["response"]["output"][0]["content"] == [part]


def test_a_call_against_the_tool_choice_is_remembered_for_the_log() -> None:
    """Its name only: its arguments go nowhere."""
    emitter = new_emitter()
    emitter.begin()
    assert emitter.feed(calls(0, FORBIDDEN, '{"a":1}')) == []
    assert emitter.ruled_out == [FORBIDDEN]


def test_of_very_many_such_calls_the_first_are_remembered() -> None:
    emitter = new_emitter()
    emitter.begin()
    for key in range(1000):
        assert emitter.feed(calls(key, FORBIDDEN, "{}")) == []
    assert emitter.ruled_out == [FORBIDDEN] * MOST_NAMES


@pytest.mark.parametrize(
    ("deltas", "problem"),
    [
        ([], CUT),
        ([CallArguments(0, "{")], CALL_NOT_OPEN),
        ([*calls(0, "f", "{"), *calls(1, "g", "{"), LENGTH], CUT_IN_SEVERAL_CALLS),
        ([Broke(TOO_LONG)], TOO_LONG),
    ],
)
def test_a_failure_has_its_reason(deltas: list[Delta], problem: Problem) -> None:
    """To the client in `response.error`, to the server in `problem`."""
    emitter = new_emitter()
    emitter.begin()
    events = emitter.feed(deltas) or emitter.end()
    if not emitter.over:
        events = emitter.end()
    assert emitter.problem == problem
    error = plain(events)[-1]["response"]["error"]
    assert error == {"code": problem.shape.failed_code, "message": problem.message, "type": problem.shape.type}


SIGNS_OF_LIFE: dict[str, tuple[list[Delta], str]] = {
    "nothing open": ([], "in_progress"),
    "white space held back": ([TextDelta(" ")], "in_progress"),
    "text": ([TextDelta("Hi")], "0.0 says ''"),
    "a refusal": ([RefusalTextDelta("no")], "0.0 says ''"),
    "a citation": ([AnnotationAdded(CITATION)], "0.0 says ''"),
    "a thought": ([ReasoningDelta("hm")], "0.0 says ''"),
    "a call": (calls(0, "f", "{"), "0 says ''"),
    "the newer of two calls": ([*calls(0, "f", "{"), *calls(1, "g")], "1 says ''"),
    "text beside a call": ([*calls(0, "f", "{"), TextDelta("Hi")], "1.0 says ''"),
    "a call that was ruled out": (calls(0, FORBIDDEN), "in_progress"),
}


@pytest.mark.parametrize("raw_reasoning", [False, True])
@pytest.mark.parametrize(("deltas", "expected"), SIGNS_OF_LIFE.values(), ids=SIGNS_OF_LIFE.keys())
def test_a_sign_of_life_fits_what_is_open(deltas: list[Delta], expected: str, *, raw_reasoning: bool) -> None:
    """An empty delta on what opened last, or in_progress again; the stream obeys the grammar all the same."""
    emitter = new_emitter(raw_reasoning=raw_reasoning)
    events = [*emitter.begin(), *emitter.keep_alive(), *emitter.feed(deltas)]
    alive = emitter.keep_alive()
    assert event_lines(plain(alive)) == [expected]
    stream = plain([*events, *alive, *emitter.keep_alive(), *emitter.feed([END]), *emitter.end()])
    check(stream)
    judge(stream)
    check_consumed(stream)


def begun() -> Emitter:
    """An emitter that has begun."""
    emitter = new_emitter()
    emitter.begin()
    return emitter


def ended() -> Emitter:
    """An emitter that is over."""
    emitter = begun()
    emitter.end()
    return emitter


@pytest.mark.parametrize(
    ("emitter", "steps"),
    [
        (new_emitter(), ["feed", "keep_alive", "end", "fail"]),
        (begun(), ["begin"]),
        (ended(), ["begin", "feed", "keep_alive", "end", "fail"]),
    ],
    ids=["new", "talking", "over"],
)
def test_a_step_out_of_order_is_misuse(emitter: Emitter, steps: list[str]) -> None:
    """Ours, never the wire's: it raises and changes nothing."""
    arguments: dict[str, list[object]] = {"feed": [[TextDelta("Hi")]], "fail": [TOO_LONG]}
    for step in steps:
        with pytest.raises(MisuseError):
            getattr(emitter, step)(*arguments.get(step, []))


def test_an_upstream_that_stops_twice_ends_once() -> None:
    """What it says last holds."""
    assert event_lines(played(Stopped("length"), Stopped("end")))[-1] == "completed"
