"""What each server that searches is asked, and which results are made of its answer."""

from datetime import date
from typing import Any, Final

import msgspec
import pytest

from app.searching.backends import BACKENDS, LONGEST_SNIPPET, Found, Query, SearchPlace, read_results

TODAY: Final = date(2026, 11, 19)
PLAIN: Final = Query("cats & dogs", 5)
FULL: Final = Query("cats", 3, days=9, domains=("a.org", "b.org"), blocked=("c.org",))
SITES: Final = "q=cats+%28site%3Aa.org+OR+site%3Ab.org%29"
BEARER: Final = {"authorization": "Bearer k"}
JSON: Final = {"content-type": "application/json"}
CONTENTS: Final = {"highlights": True, "text": {"maxCharacters": LONGEST_SNIPPET}}

ASKS: Final[list[tuple[str, Query, str, dict[str, str], dict[str, Any] | None]]] = [
    ("searxng", PLAIN, "http://s/search?q=cats+%26+dogs&format=json", BEARER, None),
    ("searxng", FULL, f"http://s/search?{SITES}&format=json&time_range=month", BEARER, None),
    (
        "brave",
        PLAIN,
        "http://s/res/v1/web/search?q=cats+%26+dogs&count=5&text_decorations=false&result_filter=web",
        {"x-subscription-token": "k"},
        None,
    ),
    (
        "brave",
        FULL,
        f"http://s/res/v1/web/search?{SITES}&count=3&text_decorations=false&result_filter=web&freshness=pm",
        {"x-subscription-token": "k"},
        None,
    ),
    (
        "exa",
        PLAIN,
        "http://s/search",
        {"x-api-key": "k", **JSON},
        {"query": "cats & dogs", "numResults": 5, "contents": CONTENTS},
    ),
    (
        "exa",
        FULL,
        "http://s/search",
        {"x-api-key": "k", **JSON},
        {
            "query": "cats",
            "numResults": 3,
            "includeDomains": ["a.org", "b.org"],
            "excludeDomains": ["c.org"],
            "startPublishedDate": "2026-11-10",
            "contents": CONTENTS,
        },
    ),
    ("tavily", PLAIN, "http://s/search", BEARER | JSON, {"query": "cats & dogs", "max_results": 5}),
    (
        "tavily",
        FULL,
        "http://s/search",
        BEARER | JSON,
        {
            "query": "cats",
            "max_results": 3,
            "include_domains": ["a.org", "b.org"],
            "exclude_domains": ["c.org"],
            "start_date": "2026-11-10",
        },
    ),
]


@pytest.mark.parametrize(("name", "query", "url", "headers", "body"), ASKS)
def test_what_it_is_asked(
    name: str, query: Query, url: str, headers: dict[str, str], body: dict[str, Any] | None
) -> None:
    ask = BACKENDS[name].ask(query, SearchPlace("http://s", "k"), TODAY)
    assert (ask.url, ask.headers) == (url, headers)
    assert (None if ask.body is None else msgspec.json.decode(ask.body)) == body


@pytest.mark.parametrize(
    ("days", "period"), [(0, "day"), (1, "day"), (2, "week"), (7, "week"), (8, "month"), (40, "year"), (400, None)]
)
def test_the_shortest_period_that_holds_all_days(days: int, period: str | None) -> None:
    ask = BACKENDS["searxng"].ask(Query("x", 5, days), SearchPlace("http://s", None), TODAY)
    assert ask.url.partition("&time_range=")[2] == (period or "")


@pytest.mark.parametrize("name", ["exa", "tavily"])
def test_more_days_than_there_are(name: str) -> None:
    """A client may send any number."""
    ask = BACKENDS[name].ask(Query("x", 5, 10**12), SearchPlace("http://s", "k"), TODAY)
    assert b"date" not in (ask.body or b"").lower()


def entry(url: object = "https://a.org/1", **more: object) -> dict[str, object]:
    return {"url": url, "title": "T", "content": "C", **more}


A: Final = Found("https://a.org/1", "T", "C")
ENTRIES: Final[dict[str, tuple[object, list[Found]]]] = {
    "a whole one": (entry(), [A]),
    "other names": ({"link": "https://a.org/1", "name": "T", "snippet": "C"}, [A]),
    "more names": ({"href": "https://a.org/1", "title": "T", "description": "C"}, [A]),
    "highlights": (
        {"url": "https://a.org/1", "title": "T", "highlights": ["C", 1, "D"]},
        [A._replace(snippet="C … D")],
    ),
    "markup": (
        entry(title="<b>T</b> &lt;x&gt;\n&amp;", content="C\x1b[0m <strong>c</strong>"),
        [Found("https://a.org/1", "T <x> &", "C [0m c")],
    ),
    "no title": ({"url": "https://a.org/1"}, [Found("https://a.org/1", "https://a.org/1", "")]),
    "a long snippet": (entry(content="x" * 9000), [A._replace(snippet="x" * (LONGEST_SNIPPET - 1) + "…")]),
    "wrong types": (entry(title=1, content=["C"]), [Found("https://a.org/1", "https://a.org/1", "")]),
    "no address": ({"title": "T"}, []),
    "a number": (entry(5), []),
    "another scheme": (entry("javascript:alert(1)"), []),
    "no host": (entry("https://"), []),
    "a broken one": (entry("https://[a"), []),
    "a space in it": (entry("https://a.org/1 2"), []),
    "a line end in it": (entry("https://a.org/1\n2"), []),
    "too long an address": (entry("https://a.org/" + "x" * 3000), []),
    "no object": ("x", []),
    "null": (None, []),
}


@pytest.mark.parametrize(("given", "wanted"), ENTRIES.values(), ids=ENTRIES)
def test_results_that_are_read(given: object, wanted: list[Found]) -> None:
    assert read_results({"a": {"b": [given]}}, "a.b", PLAIN) == wanted
    assert read_results([given], "", PLAIN) == wanted


@pytest.mark.parametrize("answer", [None, 5, {}, {"results": {}}, {"results": None}, []])
def test_answers_without_a_list(answer: object) -> None:
    assert read_results(answer, "results", PLAIN) is None


def test_no_more_results_than_wanted_and_only_of_allowed_domains() -> None:
    urls = [
        "https://a.org/",
        "https://x.a.org/",
        "https://A.org:80/",
        "https://notb.org/",
        "https://c.org/",
        "https://b.org/",
    ]
    found = read_results([entry(url) for url in urls], "", FULL._replace(blocked=("x.a.org",)))
    assert [each.url for each in found or ()] == ["https://a.org/", "https://A.org:80/", "https://b.org/"]
    found = read_results([entry(url) for url in urls], "", Query("x", 2, blocked=("a.org",)))
    assert [each.url for each in found or ()] == ["https://notb.org/", "https://c.org/"]
