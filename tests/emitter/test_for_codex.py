"""What Codex alone is told differently."""

from typing import Any

import pytest

from app.emitter.deltas import Delta, RefusalTextDelta, TextDelta
from app.emitter.emitter import Emitter
from app.protocol.response import Response
from tests.support.grammar import check
from tests.support.stage import COUNTED, LENGTH, FunctionsOnly, calls, counting_mint, plain

CASES: list[tuple[str, list[Delta], list[str]]] = [
    ("text that a limit cut", [TextDelta("Hi")], ["message incomplete"]),
    ("a whole call is", calls(0, "f", "{}"), ["function_call completed"]),
    ("a refusal is text", [RefusalTextDelta("No.")], ["message incomplete"]),
]


def played(deltas: list[Delta]) -> list[dict[str, Any]]:
    emitter = Emitter(
        Response(id="resp_AM-1", created_at=1, model="demo"),
        carriers=FunctionsOnly(),
        mint=counting_mint(),
        now=lambda: 2,
        for_codex=True,
    )
    events = plain([*emitter.begin(), *emitter.feed([*deltas, COUNTED, LENGTH]), *emitter.end()])
    check(events, completed_may_be_incomplete=True)
    return events


def test_a_call_that_a_limit_cut_is_never_told_and_the_response_fails_for_good() -> None:
    events = played([TextDelta("Hi"), *calls(0, "f", "{}"), *calls(1, "g", '{"a')])
    done = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    assert done == ["message", "function_call"]
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"] == {
        "code": "invalid_prompt",
        "message": "The model reached a limit in the middle of a tool call. Ask for smaller steps, or raise its limit.",
    }


@pytest.mark.parametrize(("deltas", "items"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_at_a_limit_codex_is_told(deltas: list[Delta], items: list[str]) -> None:
    events = played(deltas)
    response = events[-1]["response"]
    assert (events[-1]["type"], response["status"]) == ("response.completed", "incomplete")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [f"{item['type']} {item['status']}" for item in done] == items
    assert response["output"] == done
    assert all(part["type"] == "output_text" for item in done for part in item.get("content", []))
