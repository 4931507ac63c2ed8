"""The emitter, row by row of its theory of operation: what the model said, and the stream that tells it."""

import pytest

from app.protocol.problems import Problem
from app.turn.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    Delta,
    ReasoningDelta,
    RefusalDelta,
    Stopped,
    TextDelta,
)
from app.turn.emitter import CALL_NOT_OPEN, CUT, CUT_IN_SEVERAL_CALLS, Emitter, MisuseError
from tests.consumer import check_heard
from tests.grammar import check
from tests.judges import judge
from tests.sketch import sketch
from tests.stage import COMPLETED_AT, COUNTED, END, FILTERED, FORBIDDEN, LENGTH, calls, new_emitter, plain, played

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
TOO_LONG = Problem(code="context_length_exceeded", message="The input is longer than the model can read.")
HI = ["0 added message", "0.0 added output_text", "0.0 says 'Hi'"]
HI_DONE = ["0.0 said 'Hi'", "0.0 done output_text"]
HM = ["0 added reasoning", "0.0 added summary_text", "0.0 says 'hm'"]
HM_DONE = ["0.0 said 'hm'", "0.0 done summary_text"]
OK = ["1 added message", "1.0 added output_text", "1.0 says 'ok'", "1.0 said 'ok'", "1.0 done output_text"]

TALKS: dict[str, tuple[list[Delta], list[str]]] = {
    "text": (
        [TextDelta("H"), TextDelta("i"), END],
        [*HI[:2], "0.0 says 'H'", "0.0 says 'i'", *HI_DONE, "0 done message completed", "completed"],
    ),
    "nothing at all": ([END], ["completed"]),
    "only white space": ([TextDelta("\n"), TextDelta(" "), END], ["completed"]),
    "white space, then text": (
        [TextDelta("\n"), TextDelta("Hi"), END],
        [*HI[:2], "0.0 says '\\n'", HI[2], "0.0 said '\\nHi'", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "white space within text": (
        [TextDelta("Hi"), TextDelta(" "), TextDelta(""), END],
        [*HI, "0.0 says ' '", "0.0 said 'Hi '", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "white space before a call is forgotten": (
        [TextDelta("\n\n"), *calls(0, "f", "{}", call_id="c"), TextDelta("ok"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            *OK,
            "1 done message completed",
            "completed",
        ],
    ),
    "only white space thought": ([ReasoningDelta("\n\n"), ReasoningDelta(""), END], ["completed"]),
    "white space thought before a thought": (
        [ReasoningDelta("\n"), ReasoningDelta("hm"), END],
        [
            *HM[:2],
            "0.0 says '\\nhm'",
            "0.0 said '\\nhm'",
            HM_DONE[1],
            "0 done reasoning completed",
            "completed",
        ],
    ),
    "thought, then text": (
        [ReasoningDelta("hm"), TextDelta("\n"), TextDelta("ok"), END],
        [
            *HM,
            *HM_DONE,
            "0 done reasoning completed",
            *OK[:2],
            "1.0 says '\\n'",
            "1.0 says 'ok'",
            "1.0 said '\\nok'",
            OK[4],
            "1 done message completed",
            "completed",
        ],
    ),
    "text, then thought, then text": (
        [TextDelta("Hi"), ReasoningDelta("hm"), TextDelta("ok"), END],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added reasoning",
            "1.0 added summary_text",
            "1.0 says 'hm'",
            "1.0 said 'hm'",
            "1.0 done summary_text",
            "1 done reasoning completed",
            "2 added message",
            "2.0 added output_text",
            "2.0 says 'ok'",
            "2.0 said 'ok'",
            "2.0 done output_text",
            "2 done message completed",
            "completed",
        ],
    ),
    "refusal after text": (
        [TextDelta("Hi"), RefusalDelta("no"), RefusalDelta(""), RefusalDelta("!"), END],
        [
            *HI,
            *HI_DONE,
            "0.1 added refusal",
            "0.1 says 'no'",
            "0.1 says '!'",
            "0.1 said 'no!'",
            "0.1 done refusal",
            "0 done message completed",
            "completed",
        ],
    ),
    "text after a refusal, white space before it": (
        [TextDelta(" "), RefusalDelta("no"), TextDelta("Hi"), END],
        [
            "0 added message",
            "0.0 added refusal",
            "0.0 says 'no'",
            "0.0 said 'no'",
            "0.0 done refusal",
            "0.1 added output_text",
            "0.1 says 'Hi'",
            "0.1 said 'Hi'",
            "0.1 done output_text",
            "0 done message completed",
            "completed",
        ],
    ),
    "an empty refusal": ([RefusalDelta(""), END], ["completed"]),
    "citations": (
        [TextDelta("Hi"), AnnotationAdded(CITATION), AnnotationAdded(CITATION), END],
        [*HI, "0.0 cites 0", "0.0 cites 1", *HI_DONE, "0 done message completed", "completed"],
    ),
    "a citation of white space": (
        [TextDelta(" "), AnnotationAdded(CITATION), TextDelta("Hi"), END],
        [
            *HI[:2],
            "0.0 says ' '",
            "0.0 cites 0",
            HI[2],
            "0.0 said ' Hi'",
            HI_DONE[1],
            "0 done message completed",
            "completed",
        ],
    ),
    "a citation of nothing": (
        [AnnotationAdded(CITATION), END],
        [*HI[:2], "0.0 cites 0", "0.0 said ''", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "text, then a call": (
        [TextDelta("Hi"), *calls(0, "f", '{"a"', ":1}", call_id="c"), END],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{\"a\"'",
            "1 says ':1}'",
            "1 said '{\"a\":1}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "a call without arguments or id": (
        [*calls(0, "f"), END],
        [
            "0 added function_call f call_AM-1",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "completed",
        ],
    ),
    "a call whose arguments are white space": (
        [*calls(0, "f", "", " ", call_id="c"), END],
        [
            "0 added function_call f c",
            "0 says ' '",
            "0 says '{}'",
            "0 said ' {}'",
            "0 done function_call completed",
            "completed",
        ],
    ),
    "a whole call is done as soon as another opens": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", "{}", call_id="d"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "1 says '{}'",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "white space behind a call that is done": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", "{}", call_id="d"), CallArguments(0, "\n"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "1 says '{}'",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "interleaved calls with the same id": (
        [
            *calls(0, "f", "{", call_id="c"),
            *calls(1, "g", "{", call_id="c"),
            CallArguments(0, "}"),
            CallArguments(1, "}"),
            END,
        ],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g call_AM-2",
            "1 says '{'",
            "0 says '}'",
            "1 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "text while a call is not whole": (
        [*calls(0, "f", "{", call_id="c"), TextDelta("ok"), CallArguments(0, "}"), END],
        [
            "0 added function_call f c",
            "0 says '{'",
            *OK[:3],
            "0 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            *OK[3:],
            "1 done message completed",
            "completed",
        ],
    ),
    "a whole call, then a thought": (
        [*calls(0, "f", "{}", call_id="c"), ReasoningDelta("hm"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added reasoning",
            "1.0 added summary_text",
            "1.0 says 'hm'",
            "1.0 said 'hm'",
            "1.0 done summary_text",
            "1 done reasoning completed",
            "completed",
        ],
    ),
    "arguments that are no JSON are passed on": (
        [*calls(0, "f", "[" * 5000, call_id="c"), *calls(1, "g", "oops", call_id="d"), END],
        [
            "0 added function_call f c",
            f"0 says '{'[' * 5000}'",
            "1 added function_call g d",
            "1 says 'oops'",
            f"0 said '{'[' * 5000}'",
            "0 done function_call completed",
            "1 said 'oops'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "a tool the client ruled out": (
        [TextDelta("Hi"), *calls(0, FORBIDDEN, "{}", call_id="c"), TextDelta("!"), END],
        [*HI, "0.0 says '!'", "0.0 said 'Hi!'", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "limit in text": (
        [TextDelta("Hi"), LENGTH],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete max_output_tokens"],
    ),
    "limit in a thought": (
        [ReasoningDelta("hm"), LENGTH],
        [*HM, *HM_DONE, "0 done reasoning incomplete", "incomplete max_output_tokens"],
    ),
    "limit in a call": (
        [TextDelta("Hi"), *calls(0, "f", '{"a', call_id="c"), LENGTH],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{\"a'",
            "1 done function_call incomplete",
            "incomplete max_output_tokens",
        ],
    ),
    "limit before the arguments of a call": (
        [*calls(0, "f", call_id="c"), LENGTH],
        ["0 added function_call f c", "0 done function_call incomplete", "incomplete max_output_tokens"],
    ),
    "limit behind a whole call": (
        [*calls(0, "f", "{}", call_id="c"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "incomplete max_output_tokens",
        ],
    ),
    "limit in a call beside one that became whole": (
        [*calls(0, "f", "{", call_id="c"), *calls(1, "g", "{", call_id="d"), CallArguments(0, "}"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g d",
            "1 says '{'",
            "0 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 done function_call incomplete",
            "incomplete max_output_tokens",
        ],
    ),
    "limit in several calls": (
        [*calls(0, "f", "{", call_id="c"), *calls(1, "g", "{", call_id="d"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g d",
            "1 says '{'",
            "failed server_error",
        ],
    ),
    "limit before anything": ([LENGTH], ["incomplete max_output_tokens"]),
    "filter in text": (
        [TextDelta("Hi"), FILTERED],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete content_filter"],
    ),
    "the last reason holds": (
        [END, TextDelta("Hi"), LENGTH],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete max_output_tokens"],
    ),
    "cut before anything": ([], ["failed server_error"]),
    "cut in text": (
        [TextDelta("Hi")],
        [*HI, *HI_DONE, "0 done message incomplete", "failed server_error"],
    ),
    "cut in a thought": (
        [ReasoningDelta("hm")],
        [*HM, *HM_DONE, "0 done reasoning incomplete", "failed server_error"],
    ),
    "cut in a call": (
        [TextDelta("Hi"), *calls(0, "f", "{}", call_id="c")],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{}'",
            "failed server_error",
        ],
    ),
    "an error before anything": ([Broke(TOO_LONG), TextDelta("Hi")], ["failed context_length_exceeded"]),
    "an error in text beside a call": (
        [*calls(0, "f", "{", call_id="c"), TextDelta("ok"), Broke(TOO_LONG)],
        [
            "0 added function_call f c",
            "0 says '{'",
            *OK,
            "1 done message incomplete",
            "failed context_length_exceeded",
        ],
    ),
    "arguments for no call": ([CallArguments(3, "{")], ["failed server_error"]),
    "arguments behind a call that is done": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", call_id="d"), CallArguments(0, "x")],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "failed server_error",
        ],
    ),
}


@pytest.mark.parametrize(("deltas", "expected"), TALKS.values(), ids=TALKS.keys())
def test_every_talk_is_told_as_the_theory_says(deltas: list[Delta], expected: list[str]) -> None:
    """One row of the theory of operation each."""
    events = played(*deltas)
    assert sketch(events) == ["created", "in_progress", *expected]
    check(events)
    judge(events)
    check_heard(events)


@pytest.mark.parametrize(("deltas", "expected"), TALKS.values(), ids=TALKS.keys())
def test_reasoning_as_written_is_told_the_same_way(deltas: list[Delta], expected: list[str]) -> None:
    """The setting changes what a thought is made of, never the order of things."""
    events = played(*deltas, raw_reasoning=True)
    told = [line.replace("summary_text", "reasoning_text") for line in ["created", "in_progress", *expected]]
    assert sketch(events) == told
    check(events)
    judge(events)
    check_heard(events)


def test_the_last_event_says_when_and_at_what_cost() -> None:
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


def test_log_probabilities_are_told_with_each_delta_and_gathered_in_the_part() -> None:
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


@pytest.mark.parametrize(
    ("deltas", "problem"),
    [
        ([], CUT),
        ([CallArguments(0, "{")], CALL_NOT_OPEN),
        ([*calls(0, "f", "{"), *calls(1, "g", "{"), LENGTH], CUT_IN_SEVERAL_CALLS),
        ([Broke(TOO_LONG)], TOO_LONG),
    ],
)
def test_a_failure_says_why(deltas: list[Delta], problem: Problem) -> None:
    """To the client in `response.error`, to the server in `problem`."""
    emitter = new_emitter()
    emitter.begin()
    events = emitter.feed(deltas) or emitter.end()
    if not emitter.over:
        events = emitter.end()
    assert emitter.problem == problem
    error = plain(events)[-1]["response"]["error"]
    assert error == {"code": problem.answer.failed_code, "message": problem.message}


NUDGES: dict[str, tuple[list[Delta], str]] = {
    "nothing open": ([], "in_progress"),
    "white space held back": ([TextDelta(" ")], "in_progress"),
    "text": ([TextDelta("Hi")], "0.0 says ''"),
    "a refusal": ([RefusalDelta("no")], "0.0 says ''"),
    "a citation": ([AnnotationAdded(CITATION)], "0.0 says ''"),
    "a thought": ([ReasoningDelta("hm")], "0.0 says ''"),
    "a call": (calls(0, "f", "{"), "0 says ''"),
    "the newer of two calls": ([*calls(0, "f", "{"), *calls(1, "g")], "1 says ''"),
    "text beside a call": ([*calls(0, "f", "{"), TextDelta("Hi")], "1.0 says ''"),
    "a call that was ruled out": (calls(0, FORBIDDEN), "in_progress"),
}


@pytest.mark.parametrize("raw_reasoning", [False, True])
@pytest.mark.parametrize(("deltas", "expected"), NUDGES.values(), ids=NUDGES.keys())
def test_a_sign_of_life_fits_what_is_open(deltas: list[Delta], expected: str, *, raw_reasoning: bool) -> None:
    """An empty delta on what opened last, or in_progress again; the stream obeys the grammar all the same."""
    emitter = new_emitter(raw_reasoning=raw_reasoning)
    events = [*emitter.begin(), *emitter.keep_alive(), *emitter.feed(deltas)]
    alive = emitter.keep_alive()
    assert sketch(plain(alive)) == [expected]
    told = plain([*events, *alive, *emitter.keep_alive(), *emitter.feed([END]), *emitter.end()])
    check(told)
    judge(told)
    check_heard(told)


def begun() -> Emitter:
    """An emitter that talks."""
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
    assert sketch(played(Stopped("length"), Stopped("end")))[-1] == "completed"
