"""Searches of this server in the middle of an answer: what they may cost, and what else may happen there."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import httpx
import pytest

from app.dialects.search_calls import NO_MORE
from app.dialects.search_loop import TOO_MANY
from app.prompt.own_search import NO_PLACE, NO_TOOLS
from app.settings import Key, Model, Search, Secret, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.event_stream import events_of, judged
from tests.wire.script import call_turn, calls, more, says, text_turn, turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream, Script, Status
from tests.wire.web_site import Site, page

Json = dict[str, Any]

CATS: Final = call_turn("web_search", '{"query": "cats"}')
DONE: Final = text_turn("Cats sleep.")
SEARCH: Final = {"type": "web_search"}
WEATHER: Final = {"type": "function", "name": "weather", "parameters": {"type": "object"}}


@contextmanager
def before(
    upstream: ChatUpstream, server: SearchServer | Site, *, search: Json | None = None, **of_model: Any
) -> Iterator[str]:
    """The address of AM Proxy between these two."""
    settings = Settings(
        search=Search(backend="searxng", base_url=server.url, **(search or {})),
        server=Server(keep_alive=0.05),
        upstreams={"there": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk"), retries=0)},
        models={"m": Model(upstream="there", search=True, **of_model)},
    )
    with serving(settings) as url:
        yield url


def ask(url: str, *tools: Json, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "What do cats do?", "tools": [*(tools or (SEARCH,))], **fields}
    return httpx.post(f"{url}/v1/responses", json=body, timeout=30)


def types(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["type"] + (":failed" if item["status"] == "failed" else "") for item in answer.json()["output"]]


def warnings(answer: httpx.Response) -> list[str]:
    return list(json.loads(answer.headers.get("x-am-warnings", "[]")))


def outputs(upstream: ChatUpstream) -> list[str]:
    """What the model was told in the last ask."""
    return [message["content"] for message in upstream.asks[-1].body["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        ([SEARCH], "web_search"),
        ([{"type": "web_search_preview"}], "web_search"),
        ([{**WEATHER, "name": "web_search"}, SEARCH], "search_the_web"),
    ],
)
def test_the_function_that_the_model_is_offered(tools: list[Json], name: str) -> None:
    with (
        ChatUpstream(call_turn(name, '{"query": "cats"}'), DONE) as upstream,
        SearchServer() as server,
        before(upstream, server, search={"max_pages": 0}) as url,
    ):
        answer = ask(url, *tools)
    assert types(answer) == ["web_search_call", "message"]
    assert [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]][-1] == name
    assert warnings(answer) == []


def test_without_the_tool_of_the_client_there_is_no_function() -> None:
    with ChatUpstream(DONE) as upstream, SearchServer() as server, before(upstream, server) as url:
        assert types(ask(url, WEATHER)) == ["message"]
    assert [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]] == ["weather"]


@pytest.mark.parametrize("most", [1, 3])
def test_after_the_most_searches_the_model_is_told_and_asked_once_more(most: int) -> None:
    """A model that searches for ever costs so many searches, and two messages more."""
    with (
        ChatUpstream(CATS) as upstream,
        SearchServer() as server,
        before(upstream, server, search={"max_searches": most}) as url,
    ):
        answer = ask(url)
    assert types(answer) == ["web_search_call"] * most + ["web_search_call:failed"]
    assert answer.json()["tool_usage"]["web_search"] == {"num_requests": most}
    assert warnings(answer) == [TOO_MANY]
    assert (len(server.asked), len(upstream.asks)) == (most, most + 2)
    assert outputs(upstream)[-1] == NO_MORE
    assert upstream.asks[-1].body["tool_choice"] == "none"


@pytest.mark.parametrize("limit", [{"search": {"max_searches": 1}}, {"max_tool_calls": 1}])
def test_an_answer_with_fewer_searches_than_its_model_wanted_has_a_warning(limit: Json) -> None:
    with (
        ChatUpstream(CATS, CATS, DONE) as upstream,
        SearchServer() as server,
        before(upstream, server, search=limit.get("search")) as url,
    ):
        answer = ask(url, **{name: value for name, value in limit.items() if name != "search"})
    assert types(answer) == ["web_search_call", "message"]
    assert (warnings(answer), len(server.asked)) == ([TOO_MANY], 1)


def test_of_many_calls_in_one_message_only_so_many_are_run() -> None:
    many = [calls(number, "web_search", id=f"call_{number}") for number in range(200)]
    arguments = [more(number, f'{{"query": "cats {number}"}}') for number in range(200)]
    with (
        ChatUpstream(turn(*many, *arguments, reason="tool_calls"), DONE) as upstream,
        SearchServer() as server,
        before(upstream, server, search={"max_searches": 50}) as url,
    ):
        answer = ask(url)
    assert types(answer) == ["web_search_call"] * 16 + ["message"]
    assert len(server.asked) == 16
    assert outputs(upstream).count(NO_MORE) == 184


def test_after_a_search_the_model_may_call_the_client() -> None:
    with (
        ChatUpstream(CATS, call_turn("weather", "{}")) as upstream,
        SearchServer() as server,
        before(upstream, server) as url,
    ):
        answer = ask(url, SEARCH, WEATHER)
    assert types(answer) == ["web_search_call", "function_call"]
    assert upstream.violations == []


def test_a_search_that_is_cut_off_ends_the_answer() -> None:
    cut = turn(calls(0, "web_search"), more(0, '{"query": "ca'), reason="length")
    with ChatUpstream(cut) as upstream, SearchServer() as server, before(upstream, server) as url:
        answer = ask(url)
    assert answer.json()["status"] == "incomplete"
    assert types(answer) == ["web_search_call:failed"]
    assert warnings(answer) == []
    assert (len(server.asked), len(upstream.asks)) == (0, 1)


BROKEN: Final = ["", "{", "[]", '"x"', "{}", '{"query": 5}', '{"query": "  "}', '{"query": null}']


@pytest.mark.parametrize("arguments", BROKEN)
def test_a_call_without_a_query(arguments: str) -> None:
    with (
        ChatUpstream(call_turn("web_search", arguments), DONE) as upstream,
        SearchServer() as server,
        before(upstream, server) as url,
    ):
        answer = ask(url)
    assert types(answer) == ["message"]
    assert outputs(upstream) == ["Nothing was searched: the call has no `query`."]
    assert (server.asked, upstream.violations) == ([], [])


@pytest.mark.parametrize("stream", [False, True])
def test_calls_without_a_query_do_not_go_on_for_ever(stream: bool) -> None:  # noqa: FBT001 — one of the two ways to ask
    with (
        ChatUpstream(call_turn("web_search", "{}")) as upstream,
        SearchServer() as server,
        before(upstream, server, search={"max_searches": 3}) as url,
    ):
        answer = ask(url, stream=stream)
    assert answer.status_code == 200
    assert len(upstream.asks) <= 5


def test_what_has_no_effect_is_a_warning() -> None:
    tool = {**SEARCH, "user_location": {"type": "approximate", "country": "DE"}}
    with ChatUpstream(DONE) as upstream, SearchServer() as server:
        with before(upstream, server) as url:
            assert warnings(ask(url, tool)) == [NO_PLACE]
        with before(upstream, server, can={"tools": False}) as url:
            assert warnings(ask(url)) == [NO_TOOLS]
    assert "tools" not in upstream.asks[-1].body


@pytest.mark.parametrize("script", [[Status(500, b"no")], [Status(429, b"no")]])
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_after_a_search_fails_the_answer(script: Script, stream: bool) -> None:  # noqa: FBT001 — one of the two ways to ask
    with ChatUpstream(CATS, script) as upstream, SearchServer() as server, before(upstream, server) as url:
        answer = ask(url, stream=stream)
    if not stream:
        assert answer.is_error
        return
    events = events_of(answer.content)
    judged(events)
    response = events[-1]["response"]
    assert events[-1]["type"] == "response.failed"
    assert response["usage"]["output_tokens"] > 0  # of the first message
    assert [(item["type"], item["status"]) for item in response["output"]] == [("web_search_call", "completed")]
    assert response["tool_usage"]["web_search"] == {"num_requests": 1}


def test_a_slow_search_is_filled_with_keep_alives_and_ends_with_the_client() -> None:
    slow = page(json.dumps({"results": []}).encode(), pause=0.5)
    with (
        Site({"/search?q=cats&format=json": slow}) as site,
        ChatUpstream(CATS, DONE, CATS, DONE) as upstream,
        before(upstream, site) as url,
    ):
        answer = ask(url, stream=True)
        events = events_of(answer.content)
        judged(events)
        assert sum(event["type"] == "response.in_progress" for event in events) > 3
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(
                f"{url}/v1/responses",
                json={"model": "m", "input": "x", "tools": [SEARCH], "stream": True},
                timeout=httpx.Timeout(5, read=0.01),
            )
        asks = len(upstream.asks)
        time.sleep(0.8)
        assert len(upstream.asks) <= asks + 1  # it was not asked again


def test_text_that_links_to_other_pages_has_no_citations() -> None:
    links = "[a](https://example.com/one) [b](https://other.example/) (https://example.org/two) "
    links += "[c](https://example.org/two)"
    pieces = [links[start : start + 3] for start in range(0, len(links), 3)]
    with (
        ChatUpstream(CATS, turn(*map(says, pieces))) as upstream,
        SearchServer() as server,
        before(upstream, server) as url,
    ):
        answer = ask(url)
    [part] = answer.json()["output"][-1]["content"]
    cited = [
        (part["text"][each["start_index"] : each["end_index"]], each["url"], each["title"])
        for each in part["annotations"]
    ]
    assert cited == [
        ("[a](https://example.com/one)", "https://example.com/one", "First page"),
        ("[c](https://example.org/two)", "https://example.org/two", "Second page"),
    ]


def test_callers_without_a_key_of_this_server_get_no_search() -> None:
    with ChatUpstream(DONE) as upstream, SearchServer() as server:
        settings = Settings(
            search=Search(backend="searxng", base_url=server.url),
            keys=(Key("alice", sha256(b"alice").digest()),),
            upstreams={"p": Upstream(via="chat", base_url=upstream.url, auth="passthrough")},
            models={"m": Model(upstream="p", search=True)},
        )
        with serving(settings) as url:
            body = {"model": "m", "input": "x", "tools": [SEARCH]}
            answer = httpx.post(f"{url}/v1/responses", json=body, headers={"authorization": "Bearer sk-made-up"})
    assert "'web_search' cannot be offered to this model" in warnings(answer)[0]
    assert "tools" not in upstream.asks[0].body


def test_the_log_counts_searches_and_tokens(caplog: pytest.LogCaptureFixture) -> None:
    with (
        ChatUpstream(CATS, DONE) as upstream,
        SearchServer() as server,
        caplog.at_level("INFO", "am_proxy.turn"),
        before(upstream, server) as url,
    ):
        answer = ask(url)
    [fields] = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert (fields["searches"], fields["finish"]) == (1, "completed")
    assert fields["input_tokens"] == answer.json()["usage"]["input_tokens"] > 0
    assert "cats" not in str([record.__dict__ for record in caplog.records])
