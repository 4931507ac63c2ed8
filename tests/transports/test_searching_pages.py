"""POST /v1/alpha/search: the pages that a model opens, and those that it may not open."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import httpx
import pytest

from app.searching.opened_pages import NEVER_FETCHES
from app.searching.searcher import ONLY_CACHED
from app.settings import Search, Settings
from tests.support.search_requests import CATS, OUTPUT, Json, ask, output, searching
from tests.support.serving import serving
from tests.wire.search_server import SearchServer
from tests.wire.web_site import PNG, Page, Site, page, redirect

HTML: Final = page(
    b"<title>Cats</title><h1>Cats</h1><p>They <a href='/dogs'>hate dogs</a>.<p>They sleep.<p>Always.<p>End.",
    kind="text/html; charset=utf-8",
)


DOGS: Final = page(b"<title>Dogs</title>Dogs bark.", kind="text/html")
HEAD: Final = 'Page "Cats" (URL), 5 lines. [n] is the number of a link, for `click`.\n'
PAGES: Final[list[tuple[str, Json, str]]] = [
    ("open", {}, f"{HEAD}L0: Cats\nL1: They hate dogs [0].\nL2: They sleep.\nL3: Always.\nL4: End."),
    ("open", {"lineno": 4}, f"{HEAD}L4: End."),
    ("open", {"lineno": 10**30}, f"{HEAD}There is no text from that line on."),
    ("open", {"lineno": 9}, f"{HEAD}There is no text from that line on."),
    ("click", {"id": 0}, 'Page "Dogs" (DOGS), 1 lines. [n] is the number of a link, for `click`.\nL0: Dogs bark.'),
    ("click", {"id": 1}, "URL has no link 1: it has 1 links, counted from 0."),
    (
        "find",
        {"pattern": "ALWAYS"},
        'Lines of URL with "ALWAYS": 1\nL1: They hate dogs [0].\nL2: They sleep.\nL3: Always.\nL4: End.',
    ),
    ("find", {"pattern": "birds"}, '"birds" is not in URL.'),
    ("find", {"pattern": ""}, '"" is not in URL.'),
]


@pytest.mark.parametrize(("command", "fields", "wanted"), PAGES)
def test_pages(command: str, fields: Json, wanted: str) -> None:
    with Site({"/cats": HTML, "/dogs": DOGS}) as site, SearchServer() as server, searching(server) as url:
        commands = {command: [{"ref_id": f"{site.url}/cats", **fields}]}
        text = output(ask(url, commands)).replace(f"{site.url}/cats", "URL").replace(f"{site.url}/dogs", "DOGS")
    assert text == wanted


def test_the_links_of_a_page_behind_a_redirect() -> None:
    pages = {"/old": redirect("/new/cats"), "/new/cats": page(b"<a href=more>m</a>", kind="text/html")}
    with Site(pages) as site, SearchServer() as server, searching(server) as url:
        text = output(ask(url, {"open": [{"ref_id": f"{site.url}/old"}]}))
        assert text.startswith(f'Page "{site.url}/new/cats" ({site.url}/new/cats), 1 lines.')
        text = output(ask(url, {"click": [{"ref_id": f"{site.url}/old", "id": 0}]}))
        assert text.startswith(f"{site.url}/new/more was not opened.")


def test_a_page_is_downloaded_once_for_all_commands_of_a_request() -> None:
    with Site({"/cats": HTML, "/dogs": DOGS}) as site, SearchServer() as server, searching(server) as url:
        cats = {"ref_id": f"{site.url}/cats"}
        commands = {
            "open": [cats, {**cats, "lineno": 3}, {"ref_id": f"{site.url}/none"}],
            "click": [{**cats, "id": 0}, {**cats, "id": 0}],
            "find": [
                {**cats, "pattern": "sleep"},
                {**cats, "pattern": "always"},
                {"ref_id": f"{site.url}/none", "pattern": "x"},
            ],
        }
        text = output(ask(url, commands))
    assert sorted(site.paths) == ["/cats", "/dogs", "/none"]
    assert text.count("They sleep.") == 3
    assert text.count("/none was not opened.") == 2


def test_filters_of_the_client_hold_for_opened_pages_too() -> None:
    with Site({"/cats": HTML, "/away": redirect("http://localhost:PORT/cats")}) as site, SearchServer() as server:
        site.pages["/away"] = redirect(f"http://localhost:{site.port}/cats")
        with searching(server) as url:
            blocked = {"filters": {"blocked_domains": ["localhost"]}}
            commands = [
                {"open": [{"ref_id": f"http://localhost:{site.port}/cats"}]},
                {"open": [{"ref_id": f"{site.url}/away"}]},
            ]
            texts = [output(ask(url, command, settings=blocked)) for command in commands]
            allowed = {"filters": {"allowed_domains": ["example.org"]}}
            texts.append(output(ask(url, {"find": [{"ref_id": f"{site.url}/cats", "pattern": "x"}]}, settings=allowed)))
    assert [text.partition("not opened")[2] for text in texts] == [
        ": the client does not allow its domain.",
        ": it leads to a domain that the client does not allow.",
        ": the client does not allow its domain.",
    ]


def test_the_pages_of_a_request_have_a_largest_size_together() -> None:
    pages = {f"/{number}": page(b"<p>word" * 230_000, kind="text/html") for number in range(4)}
    with Site(pages) as site, SearchServer() as server, searching(server) as url:
        text = output(ask(url, {"open": [{"ref_id": site.url + path} for path in pages]}))
    assert text.count(", the first 20000 lines.") == 2
    assert text.count("was not read: all pages of one request may have 4 MiB.") == 2


def test_others_are_answered_while_hostile_pages_are_read() -> None:
    pages = {f"/{number}": page(b"<b>&#9;" * 290_000, kind="text/html") for number in range(12)}
    with Site(pages) as site, SearchServer() as server, searching(server) as url, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(ask, url, {"open": [{"ref_id": site.url + path} for path in pages]})
        delays = []
        while not reading.done():
            began = time.monotonic()
            assert httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": "x"}, timeout=20).is_success
            delays.append(time.monotonic() - began)
        assert reading.result().is_success
    assert max(delays) < 1, delays


UNREAD: Final = "URL was not opened. Invalid URL in 'ref_id': "
BAD_PAGES: Final[dict[str, tuple[Page, str]]] = {
    "nothing": (Page(404), f"{UNREAD}it could not be fetched."),
    "an image": (page(PNG), "URL is not a text, but image/png."),
    "a file": (page(b"\x00\x01"), f"{UNREAD}its data is not a PDF, an image or a text."),
    "too much": (page(b"x" * (2 * 1024 * 1024 + 1)), f"{UNREAD}its data is too large."),
    "a redirect to a file": (
        redirect("file:///etc/passwd"),
        f"{UNREAD}only http and https URLs and base64 data URIs are accepted.",
    ),
}


@pytest.mark.parametrize(("found", "wanted"), BAD_PAGES.values(), ids=BAD_PAGES)
def test_pages_that_are_not_opened(found: Page, wanted: str) -> None:
    with Site({"/x": found}) as site, SearchServer() as server, searching(server) as url:
        answer = ask(url, {"open": [{"ref_id": f"{site.url}/x"}]})
        assert output(answer).replace(f"{site.url}/x", "URL") == wanted


@pytest.mark.parametrize("ref", ["turn0search0", "", "file:///etc/passwd", "ftp://a.org/"])
def test_a_reference_that_is_no_address(ref: str) -> None:
    with SearchServer() as server, searching(server) as url:
        answer = ask(url, {"open": [{"ref_id": ref}]})
        assert output(answer) == f'"{ref}" is not known here. Name a page by its address.'


def test_no_page_of_a_private_address_is_opened() -> None:
    with Site({"/x": HTML}) as site, SearchServer() as server:
        search = Search(backend="searxng", base_url=server.url)
        with serving(Settings(search=search)) as url:
            text = output(ask(url, {"open": [{"ref_id": f"{site.url}/x"}], **CATS}))
    assert OUTPUT in text  # the server that searches is the operator's choice
    assert "it does not point to a public host" in text
    assert site.asked == []


@pytest.mark.parametrize("access", [False, "cached", "indexed"])
def test_a_client_without_live_access_only_searches(access: object) -> None:
    with Site({"/x": HTML}) as site, SearchServer() as server, searching(server) as url:
        commands = {**CATS, "open": [{"ref_id": f"{site.url}/x"}]}
        assert output(ask(url, commands, settings={"external_web_access": access})) == f"{OUTPUT}\n\n{ONLY_CACHED}"
    assert site.asked == []


def test_a_server_that_never_fetches_only_searches() -> None:
    with SearchServer() as server, searching(server, fetch_urls="never") as url:
        commands = {**CATS, "open": [{"ref_id": "https://example.com"}]}
        assert output(ask(url, commands)) == f"{OUTPUT}\n\n{NEVER_FETCHES}"
