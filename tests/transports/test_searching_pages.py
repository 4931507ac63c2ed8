"""POST /v1/alpha/search: the pages that a model opens, and those that it may not open."""

from typing import Final

import pytest

from app.searching.searcher import NEVER_FETCHES, ONLY_CACHED
from app.settings import Search, Settings
from tests.support.search_requests import CATS, OUTPUT, Json, ask, output, searching
from tests.support.search_server import SearchServer
from tests.support.serving import serving
from tests.support.web_site import PNG, Page, Site, page, redirect

HTML: Final = page(
    b"<title>Cats</title><h1>Cats</h1><p>They <a href='/dogs'>hate dogs</a>.<p>They sleep.<p>Always.<p>End.",
    kind="text/html; charset=utf-8",
)


DOGS: Final = page(b"<title>Dogs</title>Dogs bark.", kind="text/html")
HEAD: Final = 'Page "Cats" (URL), 5 lines. [n] is the number of a link, for `click`.\n'
PAGES: Final[list[tuple[str, Json, str]]] = [
    ("open", {}, f"{HEAD}L0: Cats\nL1: They hate dogs [0].\nL2: They sleep.\nL3: Always.\nL4: End."),
    ("open", {"lineno": 4}, f"{HEAD}L4: End."),
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
