"""What a client may say about a search that this server or the model's own server runs: honoured, or a warning."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.protocol.problems import ProblemError
from app.settings import Model, Search, Secret, Settings, Upstream
from tests.support import chat_requests, messages_requests
from tests.support.serving import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream

Json = dict[str, Any]

SEARCH: Final = {"type": "web_search"}
CATS: Final = call_turn("web_search", '{"query": "cats"}')
DONE: Final = text_turn("Cats sleep.")
MISSING: Final = "'tool_choice' demands a tool call, and the model made none that it allows."
ONE: Final = [{"type": "url", "url": "https://example.com/one"}]


@contextmanager
def between(
    upstream: ChatUpstream, server: SearchServer, *, named_tool_choice: Any = None, **of_model: Any
) -> Iterator[str]:
    """The address of AM Proxy between these two."""
    there = Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk"), named_tool_choice=named_tool_choice)
    settings = Settings(
        search=Search(backend="searxng", base_url=server.url, max_pages=0),
        upstreams={"there": there},
        models={"m": Model(upstream="there", **{"search": True, **of_model})},
    )
    with serving(settings) as url:
        yield url


def post(url: str, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "What do cats do?", **fields}
    return httpx.post(f"{url}/v1/responses", json=body, timeout=30)


def ask(url: str, tool: Json = SEARCH, **fields: Any) -> httpx.Response:
    answer = post(url, **{"tools": [tool], **fields})
    assert answer.status_code == 200, answer.text
    return answer


def warnings(answer: httpx.Response) -> list[str]:
    return list(json.loads(answer.headers.get("x-am-warnings", "[]")))


def lost(*names: str) -> list[str]:
    return [f"'{name}' of 'web_search' has no effect on this model's search." for name in names]


def test_blocked_domains() -> None:
    tool = {**SEARCH, "filters": {"blocked_domains": ["example.org"]}, "external_web_access": False}
    with ChatUpstream(CATS, DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        answer = ask(url, tool)
    assert answer.json()["output"][0]["action"]["sources"] == ONE
    assert warnings(answer) == []


@pytest.mark.parametrize(("most", "searches"), [(1, 1), (2, 2), (100, 5)])
def test_no_more_searches_than_the_client_wants(most: int, searches: int) -> None:
    with ChatUpstream(CATS) as upstream, SearchServer() as server, between(upstream, server) as url:
        ask(url, max_tool_calls=most)
    assert len(server.asked) == searches


def test_a_client_may_ask_for_what_is_always_shown() -> None:
    with ChatUpstream(CATS, DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        answer = ask(url, include=["web_search_call.results", "web_search_call.action.sources"])
    assert warnings(answer) == []
    [found, _] = answer.json()["output"][0]["results"]
    assert found == {**ONE[0], "type": "text_result", "title": "First page", "snippet": "One & more."}


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"search_content_types": ["text"]}, []),
        ({"search_content_types": ["text", "image"]}, ["search_content_types"]),
        ({"filters": {"languages": ["de"]}, "depth": 3}, ["depth", "filters.languages"]),
    ],
)
def test_unknown_members(more: Json, names: list[str]) -> None:
    with ChatUpstream(DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        answer = ask(url, {**SEARCH, **more})
    assert warnings(answer) == lost(*names)


@pytest.mark.parametrize("others", [[], [{"type": "function", "name": "f", "parameters": {"type": "object"}}]])
def test_a_client_that_allows_nothing_but_the_search(others: list[Json]) -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]}
    with ChatUpstream(CATS, DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        answer = ask(url, tools=[SEARCH, *others], tool_choice=choice)
    assert [item["type"] for item in answer.json()["output"]] == ["web_search_call", "message"]
    assert [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]] == ["web_search"]
    assert upstream.asks[0].body.get("tool_choice", "auto") == "auto"


WEATHER: Final = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
REQUIRED: Final = {"type": "allowed_tools", "mode": "required"}
DEMANDS: Final[dict[str, tuple[list[Json], object, list[str]]]] = {
    "the tool": ([SEARCH], SEARCH, ["web_search"]),
    "an older type of it": ([{"type": "web_search_preview"}], {"type": "web_search_preview"}, ["web_search"]),
    "the tool among others": ([SEARCH, WEATHER], SEARCH, ["web_search"]),
    "any tool": ([SEARCH], "required", ["web_search"]),
    "any of several tools": ([SEARCH, WEATHER], "required", ["weather", "web_search"]),
    "one of the allowed": ([SEARCH, WEATHER], {**REQUIRED, "tools": [SEARCH]}, ["web_search"]),
    "any of the allowed": ([SEARCH, WEATHER], {**REQUIRED, "tools": [SEARCH, WEATHER]}, ["weather", "web_search"]),
}


@pytest.mark.parametrize("named", ["name", "required"])
@pytest.mark.parametrize(("tools", "choice", "offered"), DEMANDS.values(), ids=DEMANDS)
def test_a_demanded_search_is_made_once_and_then_the_model_is_free(
    tools: list[Json], choice: object, offered: list[str], named: Any
) -> None:
    with (
        ChatUpstream(CATS, DONE) as upstream,
        SearchServer() as server,
        between(upstream, server, named_tool_choice=named) as url,
    ):
        answer = ask(url, tools=tools, tool_choice=choice)
    assert [item["type"] for item in answer.json()["output"]] == ["web_search_call", "message"]
    assert answer.json()["tool_choice"] == choice
    assert warnings(answer) == []
    for asked in upstream.asks:
        assert [tool["function"]["name"] for tool in asked.body["tools"]] == offered
    assert [asked.body.get("tool_choice", "auto") for asked in upstream.asks] == ["required", "auto"]


def test_a_demanded_search_that_the_model_does_not_make_is_a_warning() -> None:
    with ChatUpstream(DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        answer = ask(url, tool_choice=SEARCH)
    assert [item["type"] for item in answer.json()["output"]] == ["message"]
    assert warnings(answer) == [MISSING]


@pytest.mark.parametrize("choice", [SEARCH, "required"])
def test_a_model_that_searches_for_ever_where_it_must_search(choice: object) -> None:
    with ChatUpstream(CATS) as upstream, SearchServer() as server, between(upstream, server) as url:
        ask(url, tool_choice=choice)
    assert (len(server.asked), len(upstream.asks)) == (5, 7)
    assert upstream.asks[-1].body["tool_choice"] == "none"


CHOICES: Final[list[object]] = [
    {"type": "function", "name": "weather"},
    {"type": "allowed_tools", "mode": "auto", "tools": [WEATHER]},
    {"type": "allowed_tools", "mode": "required", "tools": [WEATHER]},
    "none",
]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_without_the_search_offers_none(choice: object) -> None:
    with ChatUpstream(DONE) as upstream, SearchServer() as server, between(upstream, server) as url:
        ask(url, tools=[SEARCH, WEATHER], tool_choice=choice)
    assert [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]] == ["weather"]


@pytest.mark.parametrize("choice", [SEARCH, "required", {**REQUIRED, "tools": [SEARCH]}])
def test_a_demanded_search_that_the_model_cannot_make(choice: object) -> None:
    """Because nothing searches here for this caller, or the model calls no tools."""
    with ChatUpstream(DONE) as upstream, SearchServer() as server:
        with between(upstream, server, can={"tools": False}) as url:
            refused = [post(url, tools=[SEARCH], tool_choice=choice)]
        with between(upstream, server, search=False) as url:
            refused.append(post(url, tools=[SEARCH], tool_choice=choice))
    assert [(answer.status_code, answer.json()["error"]["param"][:11]) for answer in refused] == [
        (400, "tool_choice")
    ] * 2
    assert upstream.asks == []


FILTERS: Final = {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}


def test_a_chat_server_takes_no_domains_and_no_limit() -> None:
    options = ChatOptions(model=ModelOptions(web_search=True))
    asked = chat_requests.ask(options, input="Hi", tools=[{**SEARCH, "filters": FILTERS}], max_tool_calls=2)
    assert asked.warnings == lost("filters.allowed_domains", "filters.blocked_domains", "max_tool_calls")
    assert asked.body["web_search_options"] == {}


@pytest.mark.parametrize("choice", [SEARCH, {**REQUIRED, "tools": [SEARCH]}])
def test_a_search_of_the_models_own_server_cannot_be_demanded(choice: Json) -> None:
    options = ChatOptions(model=ModelOptions(web_search=True))
    with pytest.raises(ProblemError) as refused:
        chat_requests.ask(options, input="Hi", tools=[SEARCH, WEATHER], tool_choice=choice)
    problem = refused.value.problem
    assert (problem.code, problem.param) == ("invalid_value", "tool_choice")
    assert "'web_search', which the model's own server runs" in problem.message


@pytest.mark.parametrize(
    ("filters", "sent", "names"),
    [
        ({"blocked_domains": ["b.org"]}, {"blocked_domains": ["b.org"]}, []),
        (FILTERS, {"allowed_domains": ["a.org"]}, ["filters.blocked_domains"]),
    ],
)
def test_claude_takes_one_of_both_lists_and_a_limit(filters: Json, sent: Json, names: list[str]) -> None:
    asked = messages_requests.asked({"tools": [{**SEARCH, "filters": filters}], "max_tool_calls": 2})
    [tool] = asked.body["tools"]
    assert tool == {"type": "web_search_20250305", "name": "web_search", "max_uses": 2, **sent}
    assert asked.warnings == lost(*names)
