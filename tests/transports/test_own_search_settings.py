"""What a client may say about a search that this server or the model's own server runs: honoured, or a warning."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.settings import Model, Search, Secret, Settings, Upstream
from tests.support import chat_requests, messages_requests
from tests.support.script import call_turn, text_turn
from tests.support.search_server import SearchServer
from tests.support.servers import ChatUpstream
from tests.support.serving import serving

Json = dict[str, Any]

SEARCH: Final = {"type": "web_search"}
CATS: Final = call_turn("web_search", '{"query": "cats"}')
DONE: Final = text_turn("Cats sleep.")
ONE: Final = [{"type": "url", "url": "https://example.com/one"}]


@contextmanager
def between(upstream: ChatUpstream, server: SearchServer) -> Iterator[str]:
    """The address of AM Proxy between these two."""
    settings = Settings(
        search=Search(backend="searxng", base_url=server.url),
        upstreams={"there": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk"))},
        models={"m": Model(upstream="there", search=True)},
    )
    with serving(settings) as url:
        yield url


def ask(url: str, tool: Json = SEARCH, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "What do cats do?", "tools": [tool], **fields}
    answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
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
    assert warnings(answer) == ["'include[0]' has no effect on this server."]


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


FILTERS: Final = {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}


def test_a_chat_server_takes_no_domains_and_no_limit() -> None:
    options = ChatOptions(model=ModelOptions(web_search=True))
    asked = chat_requests.ask(options, input="Hi", tools=[{**SEARCH, "filters": FILTERS}], max_tool_calls=2)
    assert asked.warnings == lost("filters.allowed_domains", "filters.blocked_domains", "max_tool_calls")
    assert asked.body["web_search_options"] == {}


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
