"""Pages that this server opens for a model in the middle of its answer, and those that it does not open."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from app.dialects.search_calls import NO_MORE_PAGES, NO_PAGE
from app.settings import Model, Search, Secret, Server, Settings, Upstream
from app.turns.message_steps import UNKNOWN_PAGE
from tests.support.metrics import samples
from tests.support.serving import serving
from tests.wire.script import call_turn, calls, more, opens, says, text_turn, turn
from tests.wire.search_server import Answered, SearchServer
from tests.wire.servers import ChatUpstream
from tests.wire.web_site import PNG, Page, Site, page, redirect

Json = dict[str, Any]

SEARCH: Final = {"type": "web_search"}
NONE: Final = {"max_pages": 0}
CATS: Final = call_turn("web_search", '{"query": "cats"}')
DONE: Final = text_turn("Cats sleep.")
HTML: Final = page(
    b"<title>Cats</title><h1>Cats</h1><p>They <a href='/dogs'>hate dogs</a>.<p>They sleep.<p>Always.<p>End.",
    kind="text/html; charset=utf-8",
)
DOGS: Final = page(b"<title>Dogs</title><p>Dogs bark.", kind="text/html")


def opening(url: str, **arguments: object) -> list[Json]:
    """The model's call for a page."""
    return call_turn("open_page", json.dumps({"url": url, **arguments}))


@contextmanager
def before(
    upstream: ChatUpstream, site: Site, *, search: Json | None = None, context_window: int | None = None, **server: Any
) -> Iterator[str]:
    """The address of AM Proxy. A search finds the page `/cats` of the site."""
    results = {"results": [{"url": f"{site.url}/cats", "title": "All about cats", "content": "They sleep."}]}
    with SearchServer(answer=Answered(200, json.dumps(results).encode(), {})) as found:
        settings = Settings(
            search=Search(backend="searxng", base_url=found.url, **(search or {})),
            server=Server(**{"allow_private_urls": True, "fetch_timeout": 0.4, **server}),
            upstreams={"there": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk"), retries=0)},
            models={"m": Model(upstream="there", search=True, context_window=context_window)},
        )
        with serving(settings) as url:
            yield url


def ask(url: str, tool: Json = SEARCH, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": "What do cats do?", "tools": [tool], **fields}
    answer = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer


def shown(answer: httpx.Response, site: Site) -> list[Json]:
    """The opened pages of the answer: the action of each, and its status."""
    items = [item for item in answer.json()["output"] if item["type"] == "web_search_call"]
    pages = [item for item in items if item["action"]["type"] != "search"]
    return [
        {**item["action"], "url": item["action"]["url"].replace(site.url, ""), "status": item["status"]}
        for item in pages
    ]


def outputs(upstream: ChatUpstream) -> list[str]:
    """What the model was told in the last ask."""
    return [message["content"] for message in upstream.asks[-1].body["messages"] if message["role"] == "tool"]


def functions(upstream: ChatUpstream) -> list[str]:
    return [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]]


LONG: Final = page(b"".join(b"<p>%d %s" % (number, b"word " * 100) for number in range(100)), kind="text/html")


@pytest.mark.parametrize(
    ("window", "size", "lines"), [(None, "low", 20), (8_000, "medium", 8), (8_000, "high", 16), (10**6, "medium", 40)]
)
def test_how_much_of_a_page_is_read_at_once(window: int | None, size: str, lines: int) -> None:
    with Site({"/cats": LONG}) as site, ChatUpstream(CATS, opening(f"{site.url}/cats"), DONE) as upstream:
        with before(upstream, site, context_window=window) as url:
            ask(url, {**SEARCH, "search_context_size": size})
        assert f"with `line` {lines}." in outputs(upstream)[-1]


def test_a_long_page_is_read_on() -> None:
    with Site({"/cats": LONG}) as site:
        scripts = [CATS, opening(f"{site.url}/cats"), opening(f"{site.url}/cats", line=40), DONE]
        with ChatUpstream(*scripts) as upstream, before(upstream, site) as url:
            ask(url)
            [_, first, second] = outputs(upstream)
    assert first.endswith("\nThe text goes on: open the page again, with `line` 40.")
    assert 20_000 < len(first) < 21_000
    assert second.splitlines()[1].startswith("L40: 40 word")
    assert site.paths == ["/cats"]


@pytest.mark.parametrize(
    ("given", "address", "opened"),
    [
        ("What do cats do?", "/cats?told=secret", False),
        ("What do cats do?", "/", False),
        ("Read SITE/dogs", "/dogs", True),
        ("Read SITE/dogs/.", "/dogs#x", True),
        ("Read HOST/dogs", "/dogs", True),
        ("Read SITE/dogs?a=b", "/dogs", True),
    ],
)
def test_only_addresses_that_the_model_has_read_are_opened(given: str, address: str, *, opened: bool) -> None:
    """A page may tell a model to carry what it has read to an address of a stranger."""
    with Site({"/cats": HTML, "/dogs": DOGS}) as site:
        given = given.replace("SITE", site.url).replace("HOST", site.url.partition("://")[2])
        with ChatUpstream(opening(site.url + address), DONE) as upstream, before(upstream, site) as url:
            answer = ask(url, input=given)
            assert (outputs(upstream) == [UNKNOWN_PAGE]) is not opened
        assert bool(site.asked) is opened
        [item] = shown(answer, site)
    assert item["status"] == ("completed" if opened else "failed")


def test_what_the_model_writes_makes_no_address_known() -> None:
    says_and_opens = [opens(), says("I will look at secret.example/x"), *opening("https://secret.example/x")[1:]]
    with Site({"/cats": HTML}) as site, ChatUpstream(CATS, says_and_opens, DONE) as upstream:
        with before(upstream, site) as url:
            ask(url)
        assert outputs(upstream)[-1] == UNKNOWN_PAGE


BAD: Final[dict[str, tuple[Page, str]]] = {
    "nothing": (Page(404), "Invalid URL in 'url': it could not be fetched."),
    "an image": (page(PNG), "is not a text, but image/png."),
    "too much": (page(b"x" * (2 * 1024 * 1024 + 1)), "its data is too large."),
    "one that hangs": (page(b"x", pause=3), "it could not be fetched."),
    "a redirect to a file": (redirect("file:///etc/passwd"), "only http and https URLs and base64 data URIs"),
    "a redirect without end": (redirect("/cats"), "it could not be fetched."),
    "a compressed one": (page(b"x", content_encoding="gzip"), "it could not be fetched."),
}


@pytest.mark.parametrize(("found", "why"), BAD.values(), ids=BAD)
def test_a_page_that_cannot_be_opened_is_told_to_the_model(found: Page, why: str) -> None:
    with Site({"/cats": found}) as site:
        with ChatUpstream(CATS, opening(f"{site.url}/cats"), DONE) as upstream, before(upstream, site) as url:
            answer = ask(url)
            assert why in outputs(upstream)[-1]
        assert shown(answer, site) == [{"type": "open_page", "url": "/cats", "status": "failed"}]


def test_no_private_address_is_opened() -> None:
    with Site({"/cats": HTML}) as site, ChatUpstream(CATS, opening(f"{site.url}/cats"), DONE) as upstream:
        with before(upstream, site, allow_private_urls=False) as url:
            ask(url)
        assert "it does not point to a public host" in outputs(upstream)[-1]
    assert site.asked == []


NO_PAGES: Final = [({"external_web_access": False}, {}), ({}, {"fetch_urls": "never"}), ({}, {"search": NONE})]


@pytest.mark.parametrize(("tool", "settings"), NO_PAGES)
def test_who_opens_no_pages_offers_no_function_for_it(tool: Json, settings: Json) -> None:
    with Site({}) as site, ChatUpstream(DONE) as upstream, before(upstream, site, **settings) as url:
        ask(url, {**SEARCH, **tool})
    assert functions(upstream) == ["web_search"]


def test_searches_and_pages_are_counted_by_what_came_of_them(caplog: pytest.LogCaptureFixture) -> None:
    with Site({"/cats": HTML}) as site:
        cats = f"{site.url}/cats"
        scripts = [
            CATS,
            opening(cats),
            opening(cats, find="birds"),
            opening(f"{site.url}/dogs"),
            opening(f"{cats}?x=y"),
            DONE,
        ]
        with ChatUpstream(*scripts) as upstream, before(upstream, site) as url, caplog.at_level("INFO"):
            ask(url, input=f"Or read {site.url}/dogs.")
            counted = samples(httpx.get(f"{url}/metrics").text)
    found = {name: count for name, count in counted.items() if name.startswith("am_proxy_searches_total")}
    assert found == {
        'am_proxy_searches_total{action="search",outcome="found"}': 1,
        'am_proxy_searches_total{action="open_page",outcome="found"}': 1,
        'am_proxy_searches_total{action="find_in_page",outcome="nothing"}': 1,
        'am_proxy_searches_total{action="open_page",outcome="failed"}': 1,
        'am_proxy_searches_total{action="open_page",outcome="refused"}': 1,
    }
    [fields] = [record.fields for record in caplog.records if record.name == "am_proxy.turn"]  # type: ignore[attr-defined]
    assert [fields[name] for name in ("searches", "opened_pages", "failed_searches")] == [1, 4, 3]


def test_the_function_has_a_name_of_its_own() -> None:
    own: Json = {"type": "function", "name": "open_page", "parameters": {"type": "object"}}
    with Site({}) as site, ChatUpstream(DONE) as upstream, before(upstream, site) as url:
        ask(url, tools=[own, SEARCH])
    assert functions(upstream) == ["open_page", "web_search", "open_web_page"]


@pytest.mark.parametrize(("most", "fields", "count"), [(2, {}, 2), (9, {"max_tool_calls": 3}, 2)])
def test_no_more_pages_than_allowed(most: int, fields: Json, count: int) -> None:
    with Site({"/cats": HTML}) as site, ChatUpstream(CATS, opening(f"{site.url}/cats")) as upstream:
        with before(upstream, site, search={"max_pages": most}) as url:
            answer = ask(url, **fields)
        pages = shown(answer, site)
    assert pages[:count] == [{"type": "open_page", "url": "/cats", "status": "completed"}] * count
    assert [each["status"] for each in pages[count:]] == ["failed"]
    assert outputs(upstream)[-1] == NO_MORE_PAGES
    assert upstream.asks[-1].body["tool_choice"] == "none"
    assert len(upstream.asks) == count + 3


ADDRESSES: Final = ["null", "5", '"javascript:alert(1)"', '"cats"', f'"https://{"x" * 3000}"']


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_call_without_an_address(address: str) -> None:
    call = call_turn("open_page", f'{{"url": {address}}}')
    with Site({}) as site, ChatUpstream(call, DONE) as upstream, before(upstream, site) as url:
        answer = ask(url)
    assert [item["type"] for item in answer.json()["output"]] == ["message"]
    assert outputs(upstream) == [NO_PAGE]


def test_odd_values_of_the_other_members() -> None:
    with Site({"/cats": HTML}) as site:
        odd: list[Json] = [{"line": -1, "find": 5}, {"line": 10**30}, {"line": "3", "find": ["x"]}]
        scripts = [CATS, *(opening(f"{site.url}/cats", **each) for each in odd), DONE]
        with ChatUpstream(*scripts) as upstream, before(upstream, site) as url:
            ask(url)
            told = outputs(upstream)[1:]
    assert ["L0: Cats" in each for each in told] == [True, False, True]


def test_filters_of_the_client_hold_for_pages() -> None:
    tool = {**SEARCH, "filters": {"allowed_domains": ["example.org"]}}
    with Site({"/cats": HTML}) as site:
        cats = f"{site.url}/cats"
        with ChatUpstream(opening(cats), DONE) as upstream, before(upstream, site) as url:
            ask(url, tool, input=f"Read {cats}")
        assert outputs(upstream) == [f"{cats} was not opened: the client does not allow its domain."]
    assert site.asked == []


def test_a_client_that_allows_no_host_at_all_gets_nothing() -> None:
    tool = {**SEARCH, "filters": {"allowed_domains": ["https://example.org/"]}}
    with Site({"/cats": HTML}) as site, ChatUpstream(CATS, DONE) as upstream, before(upstream, site) as url:
        answer = ask(url, tool)
    assert "sources" not in answer.json()["output"][0]["action"]


def test_many_pages_at_once() -> None:
    """The model may call the function many times in one message."""
    with Site({f"/{number}": DOGS for number in range(8)}) as site:
        many = [calls(number, "open_page", id=f"c{number}") for number in range(8)]
        arguments = [more(number, json.dumps({"url": f"{site.url}/{number}"})) for number in range(8)]
        with (
            ChatUpstream(turn(*many, *arguments, reason="tool_calls"), DONE) as upstream,
            before(upstream, site) as url,
        ):
            answer = ask(url, input=" ".join(f"{site.url}/{number}" for number in range(8)))
            assert outputs(upstream).count(NO_MORE_PAGES) == 3
        assert [item["status"] for item in shown(answer, site)] == ["completed"] * 5
