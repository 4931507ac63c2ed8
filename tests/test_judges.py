"""The judges themselves: each catches faults the other lets pass, and each allowance is as narrow as it says."""

import copy
from typing import Any

import pytest

from app.emitter.deltas import AnnotationAdded, Broke, ReasoningDelta, RefusalTextDelta, TextDelta
from app.protocol.problems import Problem
from tests.support.emitters import COUNTED, END, calls, played
from tests.wire.faults import Break, change, change_in, drop
from tests.wire.foreign_judges import judge, judge_response

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
STREAM = played(
    ReasoningDelta("hm"),
    TextDelta("Hi"),
    AnnotationAdded(CITATION),
    RefusalTextDelta("no"),
    *calls(0, "f", "{}", call_id="c"),
    COUNTED,
    END,
)
FAULTS: dict[str, tuple[Break, str]] = {
    "a sequence number that is text": (change("output_text.delta", sequence_number="5"), "openai: .*sequence_number"),
    "no log probabilities": (drop("output_text.delta", key="logprobs"), "openai: .*logprobs"),
    "no name in arguments.done": (drop("function_call_arguments.done", key="name"), "openai: .*name"),
    "a status nobody knows": (change_in("output_item.done", "item", 1, status="finished"), "openai: .*status"),
    "a call without status": (
        lambda stream: stream[-1]["response"]["output"][-1].pop("status"),
        "open responses: .*output",
    ),
    "no presence_penalty": (
        lambda stream: stream[0]["response"].pop("presence_penalty"),
        "open responses: .*'presence_penalty' is a required",
    ),
    "created_at with a fraction": (
        lambda stream: stream[0]["response"].update(created_at=1.5),
        "open responses: .*created_at",
    ),
    "temperature null": (change_in("completed", "response", temperature=None), "open responses: .*temperature"),
    "an event of another name": (change("output_text.delta", type="response.text.delta"), "unknown event"),
    "no type": (drop("output_text.delta", key="type"), "openai"),
    "a citation without title": (
        change("output_text.annotation.added", annotation={"type": "url_citation", "url": "u"}),
        "open responses: .*annotation",
    ),
}


@pytest.mark.parametrize(("fault", "complaint"), FAULTS.values(), ids=FAULTS.keys())
def test_a_broken_event_is_refused(fault: Break, complaint: str) -> None:
    """By one judge or the other, which says where the fault is."""
    stream = copy.deepcopy(STREAM)
    judge(stream)
    fault(stream)
    with pytest.raises(AssertionError, match=complaint):
        judge(stream)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("parallel_tool_calls", None, "openai: parallel_tool_calls"),
        ("output", [{"type": "message"}], "openai: output"),
        ("top_p", None, "open responses: .*top_p"),
        ("completed_at", "now", "openai: completed_at"),
    ],
)
def test_a_broken_response_is_refused(key: str, value: object, complaint: str) -> None:
    """The body of `stream: false` is judged like that of a lifecycle event."""
    response = STREAM[-1]["response"]
    judge_response(response)
    with pytest.raises(AssertionError, match=complaint):
        judge_response(response | {key: value})


@pytest.mark.parametrize("code", ["context_length_exceeded", "insufficient_quota", "model_not_found"])
def test_codes_that_clients_know_and_the_package_does_not_are_allowed(code: str) -> None:
    """Those three by name; any other is a fault."""
    stream = played(Broke(Problem(code=code, message="No.")))
    judge(stream)
    judge_response(stream[-1]["response"])
    stream[-1]["response"]["error"]["code"] = "odd"
    with pytest.raises(AssertionError, match=r"error\.code"):
        judge(stream)


def test_raw_reasoning_is_judged_under_the_name_the_schema_knows() -> None:
    """The rest of such an event is judged as strictly as any."""
    stream = played(ReasoningDelta("hm"), END, raw_reasoning=True)
    judge(stream)
    drop("reasoning_text.delta", key="item_id")(stream)
    with pytest.raises(AssertionError, match=r"open responses: .*'item_id' is a required"):
        judge(stream)


def test_tools_that_are_no_functions_are_left_out_of_the_schema_judgement_only() -> None:
    """A function tool that lacks a key is still a fault."""
    response = STREAM[-1]["response"]
    function: dict[str, Any] = {"type": "function", "name": "f", "description": None, "parameters": {}, "strict": None}
    judge_response(response | {"tools": [function, {"type": "local_shell"}]})
    del function["strict"]
    with pytest.raises(AssertionError, match=r"open responses: .*tools"):
        judge_response(response | {"tools": [function, {"type": "local_shell"}]})


def test_the_schema_of_a_json_schema_format_is_left_out_of_the_schema_judgement_only() -> None:
    """The rest of the format is judged, and a schema that is no object is a fault."""
    response = STREAM[-1]["response"]
    form = {"type": "json_schema", "name": "n", "description": None, "schema": {"type": "object"}, "strict": False}
    judge_response(response | {"text": {"format": form}})
    for fault in ({"schema": "object"}, {"name": None}):
        with pytest.raises(AssertionError, match=r"open responses: \$\.text"):
            judge_response(response | {"text": {"format": form | fault}})
