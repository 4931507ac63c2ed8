"""A relayed answer is held to the client's `tool_choice`: servers that speak Responses may ignore it."""

import json
from typing import Any

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.relay_turns import Json, client_events, new_turn
from tests.support.serving import serving
from tests.support.warning_sentences import sentences
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check
from tests.wire.servers import ResponsesUpstream
from tests.wire.servers.responses import ScriptedItem, answer, call, hosted, message

TOOLS: list[Json] = [{"type": "function", "name": name, "parameters": {}} for name in ("weather", "clock", "map")]
CLOCK = {"type": "function", "name": "clock"}
WEATHER_CALL, CLOCK_CALL, HELLO = (
    call("fc_1", "c1", "weather", "{}"),
    call("fc_2", "c2", "clock", "{}"),
    message("msg_3", "Hi"),
)
_ECHO = {"id": "ctc_4", "type": "custom_tool_call", "status": "in_progress", "call_id": "c4", "name": "echo"}
ECHO_CALL = ScriptedItem(
    [
        {"type": "response.custom_tool_call_input.delta", "delta": "yes"},
        {"type": "response.custom_tool_call_input.done", "input": "yes"},
    ],
    {**_ECHO, "input": ""},
    {**_ECHO, "status": "completed", "input": "yes"},
)
SEARCH_CALL = hosted("web_search_call", "ws_5")
ANOTHER = "Calls that 'tool_choice' does not allow were left out: weather."
NONE_MADE = "'tool_choice' demands a tool call, and the model made none that it allows."


def relayed_calls(choice: Any, *scripted: ScriptedItem) -> tuple[list[str], list[str]]:
    """The items that are told, each of them once and in the final response, and the warnings."""
    tools = [*TOOLS, {"type": "custom", "name": "echo"}]
    turn = new_turn(body={"tools": tools, "tool_choice": choice})
    events = client_events(turn, answer(*scripted))
    if SEARCH_CALL not in scripted:  # only its own server knows what it looks like
        check(events)
        judge(events)
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]
    assert [event["output_index"] for event in events if event["type"].endswith("added") and "item" in event] == [
        *range(len(done))
    ]
    return [item.get("name", item["type"]) for item in done], sentences(turn.late_warnings)


@pytest.mark.parametrize(
    ("choice", "content", "items", "warnings"),
    [
        (CLOCK, [WEATHER_CALL], [], [ANOTHER, NONE_MADE]),
        (CLOCK, [WEATHER_CALL, CLOCK_CALL], ["clock"], [ANOTHER]),
        (CLOCK, [CLOCK_CALL], ["clock"], []),
        (CLOCK, [WEATHER_CALL, HELLO, CLOCK_CALL], ["message", "clock"], [ANOTHER]),
        (CLOCK, [HELLO], ["message"], [NONE_MADE]),
        ({"type": "custom", "name": "echo"}, [WEATHER_CALL, ECHO_CALL], ["echo"], [ANOTHER]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [CLOCK]}, [WEATHER_CALL], [], [ANOTHER]),
        ({"type": "allowed_tools", "mode": "required", "tools": [CLOCK]}, [HELLO], ["message"], [NONE_MADE]),
        ("none", [WEATHER_CALL, HELLO], ["message"], [ANOTHER]),
        ("required", [HELLO], ["message"], [NONE_MADE]),
        ("required", [SEARCH_CALL, HELLO], ["web_search_call", "message"], []),
        ({"type": "web_search"}, [WEATHER_CALL], ["weather"], []),
        ("auto", [WEATHER_CALL, CLOCK_CALL, HELLO], ["weather", "clock", "message"], []),
    ],
)
def test_a_call_that_the_client_does_not_allow_is_left_out_and_reported(
    choice: Any, content: list[ScriptedItem], items: list[str], warnings: list[str]
) -> None:
    assert relayed_calls(choice, *content) == (items, warnings)


def without_positions(events: list[Json]) -> list[Json]:
    """The same as llama.cpp says it."""
    return [{key: value for key, value in event.items() if key != "output_index"} for event in events]


@pytest.mark.parametrize("stream", [True, False])
def test_the_client_hears_of_it_and_of_nothing_else(*, stream: bool) -> None:
    with ResponsesUpstream(without_positions(answer(WEATHER_CALL, HELLO))) as upstream:
        there = Upstream(via="responses", base_url=upstream.url)
        with serving(Settings(upstreams={"u": there}, models={"m": Model(upstream="u")})) as url:
            body = {"model": "m", "input": "Hi", "tools": TOOLS, "tool_choice": CLOCK, "stream": stream}
            got = httpx.post(f"{url}/v1/responses", json=body)
    if stream:
        last = [json.loads(line[6:]) for line in got.text.split("\n") if line.startswith("data: {")][-1]
        warnings, final = last["x_am_warnings"], last["response"]
    else:
        warnings, final = json.loads(got.headers["x-am-warnings"]), got.json()
    assert "weather" not in str(final["output"])
    assert ([item["type"] for item in final["output"]], warnings) == (["message"], [ANOTHER, NONE_MADE])


def test_names_that_an_upstream_makes_up_are_bounded_in_the_warning() -> None:
    calls = [call(f"fc_{number}", f"c{number}", f"{number}" + "x" * 5000, "{}") for number in range(60)]
    _, warnings = relayed_calls(CLOCK, *calls)
    assert len(warnings[0]) < 2000
