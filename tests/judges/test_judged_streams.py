"""The rules of clients are silent about sound streams of OpenAI's kind, and say one thing about one fault."""

from typing import Any

import pytest

from tests.judges import TypesJudge, judge_answered_response, judge_cut_answers, judge_stream, openai_streams
from tests.wire.servers.responses import answer, call, message

OPENAI = {name: getattr(openai_streams, name) for name in ("TEXT", "CALL", "CALLS", "SEARCH", "CUSTOM", "CUT")}


def broken(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = [*judge_stream(events), *TypesJudge().events(events)]
    return [(finding.rule.name, finding.detail) for finding in found]


@pytest.mark.parametrize("name", OPENAI)
def test_streams_of_openais_kind_break_no_rule(name: str) -> None:
    assert broken(OPENAI[name]) == []
    response = OPENAI[name][-1]["response"]
    assert judge_answered_response(response) + TypesJudge().response(response) == []


def test_an_error_and_then_response_failed_is_what_openai_sends() -> None:
    begun = openai_streams.TEXT[:2]
    error = {"type": "server_error", "code": "server_error", "message": "Gone.", "param": None}
    response = {**begun[0]["response"], "status": "failed", "error": {"code": "server_error", "message": "Gone."}}
    ends = [{"type": "error", "error": error}, {"type": "response.failed", "response": response}]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(ends, 2)]
    found = judge_stream([*begun, *numbered])
    assert [finding.rule.name for finding in found] == []


def test_what_follows_from_a_broken_rule_is_not_found_as_another_one() -> None:
    """Items that have no place, or share one, cannot be compared with the output at the end."""
    scripted = answer(message("msg_1", "Hi"), call("fc_1", "call_1", "weather", "{}"))
    placeless = [{key: value for key, value in event.items() if key != "output_index"} for event in scripted]
    at_zero = [{**event, "output_index": 0} if "output_index" in event else event for event in scripted]
    for events in (placeless, at_zero):
        found = {rule for rule, _ in broken(events)}
        assert found and "final-output" not in found


@pytest.mark.parametrize("value", [[], {}, 7, None, "x" * 100_000, "\ud800"])
def test_values_of_any_type_are_judged(value: Any) -> None:
    """A server may send anything anywhere."""
    for event in openai_streams.CALLS[:12]:
        for key in event.keys() - {"type"}:
            found = judge_stream([openai_streams.CALLS[0], {**event, key: value}])
            assert all(len(finding.detail) <= 200 for finding in found)
        for key in event.get("item", {}):
            judge_stream([openai_streams.CALLS[0], {**event, "item": {**event["item"], key: value}}])
        for key in event.get("response", {}):
            judge_stream([{**event, "response": {**event["response"], key: value}}])
            judge_answered_response({**event["response"], key: value})
            TypesJudge().response({**event["response"], key: value})
    for key in (cut := openai_streams.CUT[-1]["response"]):
        judge_cut_answers([({**cut, key: value}, 16)] * 2)
    for key in cut["output"][-1]:
        judge_cut_answers([({**cut, "output": [{**cut["output"][-1], key: value}]}, 16)])
    TypesJudge().response({**openai_streams.TEXT[-1]["response"], "error": {"code": value, "message": "No."}})


def test_the_findings_about_a_long_stream_are_few_and_short() -> None:
    """A server that breaks rules with every event must not fill the memory."""
    odd = [{"type": f"response.odd{n}", "sequence_number": n, "x": "y" * 10_000} for n in range(2_000)]
    found = judge_stream(odd)
    assert len(found) == 50
    assert max(len(finding.quote) for finding in found) < 500
