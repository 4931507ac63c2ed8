"""Answers that the server pauses: it is asked to go on, and the client gets one answer."""

import json
from collections.abc import Sequence
from typing import Any, Final

import httpx
import pytest

from app.settings import Model, Secret, Server, Settings, Upstream
from app.upstreams.http_messages import HttpMessages
from app.upstreams.paused_answers import MOST_PAUSES
from tests.support.metrics import samples
from tests.support.serving import serving
from tests.support.upstream_asks import KEY, answers
from tests.wire.servers import AnthropicUpstream, Script, Status
from tests.wire.servers.anthropic import begins, block, ends, text, thinking, tool_use

Json = dict[str, Any]

HI: Final = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
SEARCH: Final = {"type": "web_search_20250305", "name": "web_search"}
ASK: Final[Json] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [HI],
    "tools": [SEARCH],
    "stream": True,
}
PAGE: Final = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "eA=="}
CITATION: Final = {
    "type": "web_search_result_location",
    "url": "https://a.example",
    "title": "A",
    "cited_text": "a",
    "encrypted_index": "eA==",
}
SEARCHES: Final = block(
    2,
    "server_tool_use",
    {"type": "input_json_delta", "partial_json": '{"query":'},
    {"type": "input_json_delta", "partial_json": '"a"}'},
    id="srvtoolu_1",
    name="web_search",
    input={},
)
FOUND: Final = block(0, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[{**PAGE, "page_age": None}])
CITES: Final = block(
    1, "text", {"type": "text_delta", "text": "It is A."}, {"type": "citations_delta", "citation": CITATION}, text=""
)
PAUSES: Final = [
    *begins(input_tokens=10),
    *thinking(0, "Let me ", "look."),
    *text(1, "I ", "search."),
    *SEARCHES,
    *ends("pause_turn", output_tokens=5),
]
GOES_ON: Final = [*begins(input_tokens=30), *FOUND, *CITES, *ends(output_tokens=7)]
WRITTEN: Final = [
    {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"},
    {"type": "text", "text": "I search."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}},
]


async def asked(ask: Json, *scripts: Script) -> tuple[list[Json], list[Json], str]:
    """The events, the bodies of the asks, and the code of the problem."""
    with AnthropicUpstream(*scripts) as upstream:
        client = HttpMessages(f"{upstream.url}/v1", api_key=KEY)
        events, problem = await answers(client, ask)
        await client.close()
    return events, [each.body for each in upstream.asks], "" if problem is None else problem.code


def reasons(events: Sequence[Json]) -> list[str | None]:
    """Why the messages ended, as the reader is told."""
    return [event["delta"].get("stop_reason") for event in events if event["type"] == "message_delta"]


@pytest.mark.parametrize("citations", [{"a": 1}, "a", 1, True, [], [CITATION]])
async def test_citations_that_a_block_begins_with(citations: Any) -> None:
    """What is no list is replaced. The events are read later, and stay as they are."""
    odd = block(1, "text", *[event["delta"] for event in CITES[1:-1]], text="", citations=citations)
    with AnthropicUpstream([*begins(), *odd, *ends("pause_turn")], GOES_ON) as upstream:
        upstream.may_violate = True
        client = HttpMessages(f"{upstream.url}/v1", api_key=KEY)
        events, problem = await answers(client, ASK)
        await client.close()
    assert problem is None
    before = citations if isinstance(citations, list) else []
    written = upstream.asks[1].body["messages"][-1]["content"]
    assert written == [{"type": "text", "text": "It is A.", "citations": [*before, CITATION]}]
    assert odd[0] in events


async def test_the_server_gets_back_what_it_wrote() -> None:
    events, bodies, problem = await asked(ASK, PAUSES, GOES_ON)
    assert (reasons(events), problem) == ([None, "end_turn"], "")
    assert bodies == [ASK, {**ASK, "messages": [HI, {"role": "assistant", "content": WRITTEN}]}]


async def test_what_was_written_between_pauses_is_one_message() -> None:
    again = [*begins(), *FOUND, *CITES, *ends("pause_turn")]
    events, bodies, _ = await asked(ASK, PAUSES, again, [*begins(), *text(0, "Done."), *ends()])
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{**PAGE, "page_age": None}]}
    cites = {"type": "text", "text": "It is A.", "citations": [CITATION]}
    assert bodies[2]["messages"] == [HI, {"role": "assistant", "content": [*WRITTEN, found, cites]}]
    assert reasons(events) == [None, None, "end_turn"]


async def test_an_answer_is_not_carried_on_for_ever() -> None:
    events, bodies, _ = await asked(ASK, [*begins(), *text(0, "More."), *ends("pause_turn")])
    assert len(bodies) == MOST_PAUSES + 1
    assert reasons(events) == [None] * MOST_PAUSES + ["pause_turn"]


@pytest.mark.parametrize(
    ("ask", "script"),
    [
        pytest.param({**ASK, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}, PAUSES, id="no own tools"),
        pytest.param(ASK, [*begins(), *tool_use(0, "f", "toolu_1", "{}"), *ends("pause_turn")], id="a client's call"),
        pytest.param(ASK, [*begins(), *ends("pause_turn")], id="nothing written"),
        pytest.param(ASK, [*begins(), *text(0, " "), *ends("pause_turn")], id="only white space"),
        pytest.param(ASK, [*begins(), *text(0, "a\ud83d"), *ends("pause_turn")], id="half a character"),
    ],
)
async def test_other_pauses_are_reported(ask: Json, script: list[Any]) -> None:
    events, bodies, problem = await asked(ask, script)
    assert (len(bodies), reasons(events), problem) == (1, ["pause_turn"], "")


async def test_a_refusal_to_go_on_breaks_the_answer_off() -> None:
    events, bodies, problem = await asked(ASK, PAUSES, [Status(529, {"error": {"message": "Overloaded"}})])
    assert (len(bodies), reasons(events), problem) == (2, [None], "upstream_error")


def test_the_client_gets_one_answer_with_the_usage_of_all() -> None:
    with AnthropicUpstream(PAUSES, GOES_ON) as upstream:
        there = Upstream(via="messages", base_url=upstream.url, api_key=Secret("sk-upstream"))
        model = Model(upstream="there", name="claude-sonnet-4-6", web_search=True)
        with serving(Settings(upstreams={"there": there}, models={"m": model})) as url:
            body = {"model": "m", "input": "Hi", "tools": [{"type": "web_search"}]}
            response = httpx.post(f"{url}/v1/responses", json=body).json()
    assert response["status"] == "completed"
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "web_search_call", "message"]
    assert response["output"][2]["action"]["query"] == "a"
    cited = response["output"][3]["content"][0]
    assert (cited["text"], cited["annotations"][0]["url"]) == ("It is A.", "https://a.example")
    usage = response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (40, 12, 52)
    assert "pause" not in str(response)


def test_each_ask_is_shown_and_the_pauses_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    again = [*begins(), *FOUND, *CITES, *ends("pause_turn")]
    with AnthropicUpstream(PAUSES, again, [*begins(), *text(0, "Done."), *ends()]) as upstream:
        there = Upstream(via="messages", base_url=upstream.url, api_key=Secret("sk-upstream"))
        model = Model(upstream="there", name="claude-sonnet-4-6", web_search=True)
        server = Server(watch=10, metrics="open")
        settings = Settings(server=server, upstreams={"there": there}, models={"m": model})
        with caplog.at_level("INFO"), serving(settings) as url:
            body = {"model": "m", "input": "Hi", "tools": [{"type": "web_search"}]}
            httpx.post(f"{url}/v1/responses", json=body).raise_for_status()
            with httpx.stream("GET", f"{url}/inspector/turns/1/live") as watched:
                asks = _asks_in(watched)
            counted = samples(httpx.get(f"{url}/metrics").text)
        sent = [each.body["messages"] for each in upstream.asks]
    assert [(note["upstream"], note.get("goes_on", False)) for note in asks] == [
        ("there", False), ("there", True), ("there", True)
    ]  # fmt: skip
    assert [len(note["ask"]["messages"]) for note in asks] == [len(messages) for messages in sent] == [1, 2, 2]
    [line] = [each.__dict__["fields"] for each in caplog.records if each.name == "am_proxy.turn"]
    assert (line["pauses"], line["finish"], "retries" in line) == (2, "completed", False)
    assert not any("retries" in name for name in counted)


def _asks_in(watched: httpx.Response) -> list[Json]:
    """What was asked in the turn that has ended."""
    asks: list[Json] = []
    kind = ""
    for row in watched.iter_lines():
        if row.startswith("event: "):
            kind = row.removeprefix("event: ")
        elif row.startswith("data: ") and kind == "asked":
            asks.append(json.loads(row.removeprefix("data: ")))
        elif row.startswith("data: ") and kind == "ended":
            break
    return asks


def test_what_was_found_and_cited_goes_back_in_the_next_turn() -> None:
    again = [*begins(), *text(0, "Done."), *ends()]
    with AnthropicUpstream(PAUSES, GOES_ON, again) as upstream:
        there = Upstream(via="messages", base_url=upstream.url, api_key=Secret("sk-upstream"))
        model = Model(upstream="there", name="claude-sonnet-4-6", web_search=True)
        with serving(Settings(upstreams={"there": there}, models={"m": model})) as url:
            body: Json = {"model": "m", "tools": [{"type": "web_search"}], "include": ["reasoning.encrypted_content"]}
            body |= {"reasoning": {"effort": "low"}}
            items: list[Json] = [{"role": "user", "content": "Hi"}]
            items += httpx.post(f"{url}/v1/responses", json={**body, "input": items}).json()["output"]
            items += [{"role": "user", "content": "Go on."}]
            assert httpx.post(f"{url}/v1/responses", json={**body, "input": items}).json()["status"] == "completed"
        _, said, _ = upstream.asks[2].body["messages"]
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{**PAGE, "page_age": None}]}
    assert said["content"] == [*WRITTEN, found, {"type": "text", "text": "It is A.", "citations": [CITATION]}]
