"""What Cohere says in its own events, and what it is asked."""

import json
from typing import Any, Final

import httpx
import pytest

from tests.http.wires.answers import answered, counted, essentials
from tests.http.wires.lanes import Wired
from tests.support.demo_behaviours import WEATHER
from tests.wire.servers import Cut, Says, Status, Step
from tests.wire.servers.cohere import usage

Json = dict[str, Any]


def event(kind: str, message: Json | None = None, index: int = 0, **delta: Any) -> Json:
    return {"type": kind, "index": index, "delta": delta if message is None else {"message": message}}


def text(words: str) -> Json:
    return event("content-delta", {"content": {"text": words}})


def ends(reason: str = "COMPLETE", **delta: Any) -> Json:
    return event("message-end", finish_reason=reason, usage=usage(), **delta)


def line(event: Json) -> bytes:
    return json.dumps(event).encode() + b"\n"


CALL: Final[list[Step]] = [
    event("tool-call-start", {"tool_calls": {"id": "w_1", "type": "function", "function": {"name": "get_weather"}}}),
    event("tool-call-delta", {"tool_calls": {"function": {"arguments": '{"city": '}}}),
    event("tool-call-delta", {"tool_calls": {"function": {"arguments": '"Rome"}'}}}),
    event("tool-call-end"),
]
CALLED: Final = {"call": "get_weather", "arguments": '{"city": "Rome"}'}
WHOLE: Final = {
    "id": "msg_1",
    "finish_reason": "TOOL_CALL",
    "message": {
        "role": "assistant",
        "tool_plan": "I will look.",
        "content": [{"type": "thinking", "thinking": " Hm."}, {"type": "text", "text": "Hi"}],
        "tool_calls": [
            {"id": "w_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
        ],
    },
    "usage": usage(),
}

ANSWERS: Final[dict[str, tuple[list[Step], Json]]] = {
    "a plan and a call": (
        [
            event("tool-plan-delta", {"tool_plan": "I will "}),
            event("tool-plan-delta", {"tool_plan": "look."}),
            *CALL,
            ends("TOOL_CALL"),
        ],
        {"status": "completed", "output": [{"thought": "I will look."}, CALLED]},
    ),
    "text that looks like an event": (
        [text('event: x\u2028data: {"a": 1}'), text("[DONE]"), ends()],
        {"status": "completed", "output": [{"text": 'event: x\u2028data: {"a": 1}[DONE]'}]},
    ),
    "the limit": ([text("Hi"), ends("MAX_TOKENS")], {"status": "incomplete", "output": [{"text": "Hi"}]}),
    "a reason that nobody knows": ([text("Hi"), ends("NEW")], {"status": "completed", "output": [{"text": "Hi"}]}),
    "an event that nobody knows": (
        [{"type": "debug", "prompt": "x"}, text("Hi"), ends()],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "lines of JSON alone": (
        [line(text("Hi")), line(ends())[:30], line(ends())[30:]],
        {"status": "completed", "output": [{"text": "Hi"}]},
    ),
    "a whole answer": (
        [Status(200, WHOLE)],
        {"status": "completed", "output": [{"thought": "I will look. Hm."}, {"text": "Hi"}, CALLED]},
    ),
    "an error": (
        [text("Hi"), ends("ERROR", error="generation failed")],
        {"status": "failed", "output": [{"text": "Hi"}], "error": "server_error"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_told_as_it_was_sent(everything: Wired, steps: list[Step], expected: Json) -> None:
    response = answered(everything, "cohere", steps, tools=[WEATHER])
    assert essentials(response) == expected
    assert counted(response) == (20, 8, 12, 0, False)


def test_an_answer_that_was_cut_is_told_as_cut(everything: Wired) -> None:
    for end in ([], [Cut()]):
        response = answered(everything, "cohere", [text("Hi"), *end])
        assert essentials(response) == {"status": "failed", "output": [{"text": "Hi"}], "error": "server_error"}


def test_citations_stand_at_their_text_and_those_without_an_address_are_counted(everything: Wired) -> None:
    sources = [
        {"type": "document", "id": "d1", "document": {"url": "https://a.example/", "title": "A"}},
        {"type": "tool", "id": "w_1:0", "tool_output": {"temperature": "21"}},
    ]
    cited = event("citation-start", {"citations": {"start": 0, "end": 4, "text": "Rome", "sources": sources}})
    everything.wires["cohere"].scripts = ([text("Rome is warm."), cited, event("citation-end"), ends()],)
    body = {"model": "cohere", "input": "Hi"}
    answer = httpx.post(f"{everything.url}/v1/responses", json=body, timeout=50)
    [part] = answer.json()["output"][0]["content"]
    assert part["annotations"] == [
        {"type": "url_citation", "url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 4}
    ]
    assert "Citations without an address or a place in the text were left out: 1." in answer.headers["x-am-warnings"]


FORECAST: Final = {**WEATHER, "name": "get_forecast"}


@pytest.mark.parametrize(
    ("choice", "asked", "offered"),
    [
        ("auto", None, ["get_weather", "get_forecast"]),
        ("required", "REQUIRED", ["get_weather", "get_forecast"]),
        ({"type": "function", "name": "get_forecast"}, "REQUIRED", ["get_forecast"]),
    ],
    ids=["auto", "required", "named"],
)
def test_a_tool_choice_is_told_in_its_words(
    everything: Wired, choice: Any, asked: str | None, offered: list[str]
) -> None:
    """Left alone, litellm drops it without a word."""
    wire = everything.wires["cohere"]
    wire.say([Says("Hi")])
    body = {"model": "cohere", "input": "Hi", "tools": [WEATHER, FORECAST], "tool_choice": choice}
    assert httpx.post(f"{everything.url}/v1/responses", json=body, timeout=50).status_code == 200
    [ask] = wire.asks
    assert ask.body.get("tool_choice") == asked
    assert [tool["function"]["name"] for tool in ask.body["tools"]] == offered
    assert wire.violations == []


def test_the_other_name_of_the_provider_reaches_it_as_well(everything: Wired) -> None:
    response = answered(everything, "cohere by its other name", [text("Hi"), ends()])
    assert essentials(response)["output"] == [{"text": "Hi"}]
