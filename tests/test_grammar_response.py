"""The grammar refuses a response that lacks a field, has a wrong value or contradicts its status."""

import copy

import pytest

from tests.support.sound_streams import CUT, PROSE
from tests.wire.grammar import check
from tests.wire.grammar_response import FIELDS, check_response


@pytest.mark.parametrize("key", sorted(FIELDS))
def test_a_response_without_one_of_its_fields_is_refused(key: str) -> None:
    """What is not known is null, never absent."""
    response = copy.deepcopy(PROSE[-1]["response"])
    check_response(response)
    del response[key]
    with pytest.raises(AssertionError, match=f"a response carries a proper {key}"):
        check_response(response)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "resp_1"),
        ("created_at", 1.5),
        ("completed_at", "now"),
        ("status", "queued"),
        ("background", True),
        ("error", {"code": None, "message": "m"}),
        ("error", {"code": "c", "message": ""}),
        ("incomplete_details", {"reason": "length"}),
        ("instructions", 1),
        ("max_output_tokens", 1.0),
        ("metadata", None),
        ("model", ""),
        ("output", None),
        ("parallel_tool_calls", None),
        ("previous_response_id", ""),
        ("reasoning", {"effort": None}),
        ("service_tier", None),
        ("store", True),
        ("temperature", None),
        ("text", {}),
        ("text", {"format": {"type": "text"}, "verbosity": None}),
        ("tool_choice", None),
        ("tools", None),
        ("tools", [{"type": "function", "name": "f", "parameters": None, "strict": None}]),
        ("top_logprobs", None),
        ("top_p", float("nan")),
        ("truncation", None),
        ("usage", {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
    ],
)
def test_a_response_with_a_wrong_value_is_refused(key: str, value: object) -> None:
    """Wrong types, nulls where none may be, objects without their fields."""
    response = PROSE[-1]["response"] | {key: value}
    with pytest.raises(AssertionError, match=f"a response carries a proper {key}"):
        check_response(response)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"completed_at": None}, "completed_at is a number once completed"),
        ({"completed_at": 5}, "nothing is completed before"),
        ({"error": {"code": "c", "message": "m"}}, "error is there when the response failed"),
        ({"incomplete_details": {"reason": "content_filter"}}, "incomplete_details are there when"),
        ({"status": "incomplete"}, "completed_at is a number once completed"),
    ],
)
def test_a_response_that_contradicts_its_status_is_refused(fields: dict[str, object], rule: str) -> None:
    """Each status has its own fields."""
    with pytest.raises(AssertionError, match=rule):
        check_response(PROSE[-1]["response"] | fields)


def test_codex_may_be_told_of_a_limit_by_a_completed_event() -> None:
    """Only where the check is told so: everywhere else event and status agree."""
    stream = copy.deepcopy(CUT)
    stream[-1]["type"] = "response.completed"
    check(stream, completed_may_be_incomplete=True)
