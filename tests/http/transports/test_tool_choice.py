"""A tool that the client demands: how servers are asked for it, and what is said where they call another one."""

import json
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.event_stream import judged
from tests.wire.program import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import AnthropicUpstream, Ask, ChatUpstream, Step
from tests.wire.servers.anthropic import begins, ends, tool_use
from tests.wire.sockets import opened

Json = dict[str, Any]

TOOLS: list[Json] = [{"type": "function", "name": name, "parameters": {}} for name in ("weather", "clock", "map")]
CHOSEN = {"type": "function", "name": "clock"}
ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [CHOSEN, {"type": "function", "name": "map"}]}
ANOTHER = "Calls that 'tool_choice' does not allow were left out: weather."
NONE_MADE = "'tool_choice' demands a tool call, and the model made none that it allows."


def knows_words_only(ask: Ask) -> list[Step]:
    """As llama.cpp does: it reads an object as `auto`, and calls the first of the tools it is offered."""
    return list(call_turn(ask.body["tools"][0]["function"]["name"], "{}"))


LANES: dict[str, Json] = {
    "m": {"via": "chat"},
    "litellm": {"via": "litellm"},
    "words": {"via": "chat", "named_tool_choice": "required"},
    "words over litellm": {"via": "litellm", "named_tool_choice": "required"},
    "lm_studio": {"via": "litellm", "provider": "lm_studio"},
    "llamafile": {"via": "litellm", "provider": "llamafile"},
}
"""Ways to the same server, each with a model of the same name."""


def settings(url: str) -> str:
    models = {name: Model(upstream=name, name="m") for name in LANES}
    return Settings(upstreams={name: lane | {"base_url": url} for name, lane in LANES.items()}, models=models)


def asked(**fields: Any) -> Json:
    return {"model": "m", "input": "Hi", "tools": TOOLS, "tool_choice": CHOSEN, **fields}


def answer_of(url: str, **fields: Any) -> tuple[str, list[str], list[str]]:
    """The status, the names of the calls, and the warnings of a whole answer."""
    answer = httpx.post(f"{url}/v1/responses", json=asked(**fields), timeout=20)
    body = answer.json()
    names = [item["name"] for item in body["output"] if item["type"] == "function_call"]
    return body["status"], names, json.loads(answer.headers.get("x-am-warnings", "[]"))


@pytest.mark.parametrize("lane", ["m", "litellm"])
def test_a_call_of_another_tool_than_the_named_one_is_left_out_and_reported(lane: str) -> None:
    with ChatUpstream(knows_words_only) as upstream, serving(settings(upstream.url)) as url:
        assert answer_of(url, model=lane) == ("completed", [], [ANOTHER, NONE_MADE])
        [ask] = upstream.asks
    assert ask.body["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    assert [tool["function"]["name"] for tool in ask.body["tools"]] == ["weather", "clock", "map"]


@pytest.mark.parametrize(
    ("lane", "choice", "offered"),
    [
        ("words", CHOSEN, ["clock"]),
        ("words", ALLOWED, ["clock", "map"]),
        ("words over litellm", CHOSEN, ["clock"]),
        ("lm_studio", CHOSEN, ["clock"]),
        ("llamafile", CHOSEN, ["clock"]),
    ],
)
def test_a_server_that_knows_words_only_is_offered_what_is_demanded_and_nothing_else(
    lane: str, choice: Json, offered: list[str]
) -> None:
    with ChatUpstream(knows_words_only) as server, serving(settings(server.url)) as url:
        assert answer_of(url, model=lane, tool_choice=choice) == ("completed", ["clock"], [])
        [ask] = server.asks
    assert ask.body["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in ask.body["tools"]] == offered


def test_a_server_of_the_messages_api_that_names_nothing_is_offered_what_is_demanded() -> None:
    with AnthropicUpstream([*begins(), *tool_use(0, "clock", "t1", "{}"), *ends("tool_use")]) as server:
        there = Upstream(via="messages", provider="llama_cpp", api_key="sk", base_url=server.url)
        with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
            assert answer_of(url) == ("completed", ["clock"], [])
        [ask] = server.asks
    assert (ask.body["tool_choice"], [tool["name"] for tool in ask.body["tools"]]) == ({"type": "any"}, ["clock"])


@pytest.mark.parametrize("choice", ["auto", "none", "required", {**ALLOWED, "mode": "auto"}])
def test_where_no_tool_is_demanded_all_are_offered(choice: Any) -> None:
    with ChatUpstream(text_turn("Hi")) as server, serving(settings(server.url)) as url:
        answer_of(url, model="words", tool_choice=choice)
        [ask] = server.asks
    assert [tool["function"]["name"] for tool in ask.body["tools"]] == ["weather", "clock", "map"]


@pytest.mark.parametrize(
    ("choice", "warnings"), [(CHOSEN, [NONE_MADE]), ("required", [NONE_MADE]), ("auto", []), ("none", [])]
)
def test_words_where_a_call_was_demanded_are_reported_as_such(choice: Any, warnings: list[str]) -> None:
    with ChatUpstream(text_turn("It is late.")) as upstream, serving(settings(upstream.url)) as url:
        assert answer_of(url, tool_choice=choice) == ("completed", [], warnings)


def test_a_streamed_answer_tells_it_in_its_last_event() -> None:
    """Its headers have left by then, and an empty answer must not look as if nothing had been said."""
    with ChatUpstream(knows_words_only) as upstream, serving(settings(upstream.url)) as url:
        answer = httpx.post(f"{url}/v1/responses", json=asked(stream=True))
        quiet = httpx.post(f"{url}/v1/responses", json=asked(stream=True, tool_choice="auto"))
    events, others = (
        [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
        for text in (answer.text, quiet.text)
    )
    assert events[-1].pop("x_am_warnings") == [ANOTHER, NONE_MADE]
    assert (events[-1]["type"], events[-1]["response"]["output"]) == ("response.completed", [])
    assert not any("x_am_warnings" in event for event in [*events, *others])
    judged(events)


async def test_over_a_websocket_the_last_event_tells_it_too() -> None:
    with ChatUpstream(knows_words_only) as upstream, serving(settings(upstream.url)) as url:
        async with opened(url) as client:
            events = await client.ask(**asked())
    assert events[-1].pop("x_am_warnings") == [ANOTHER, NONE_MADE]
    assert not any("x_am_warnings" in event for event in events)
    judged(events)
