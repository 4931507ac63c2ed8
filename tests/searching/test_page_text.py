"""The text of web pages, and what hostile ones cost."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.searching.page_text import LONGEST_LINE, MOST_LINKS, PageText, page_text
from tests.support.scan import assert_linear

URL: Final = "https://a.org/x/page"
PAGES: Final[dict[str, tuple[str, PageText]]] = {
    "a page": (
        """<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body><h1>Head</h1>
        <p>One <b>bold</b> <a class=x href='/two'>link</a>.<br>Two</p><script>if (a < b) x()</script></body></html>""",
        PageText("A & B", ["Head", "One bold link [0].", "Two"], ["https://a.org/two"]),
    ),
    "no markup": ("just text", PageText("", ["just text"], [])),
    "signs": ("a < b and 3 <4 &lt;c&gt;", PageText("", ["a < b and 3 <4 <c>"], [])),
    "a comment": ("a<!-- <p>x</p> -->b", PageText("", ["ab"], [])),
    "a comment without an end": ("a<!-- <p>x</p>", PageText("", ["a"], [])),
    "a script without an end": ("a<script>b", PageText("", ["a"], [])),
    "a tag without an end": ("a<p b", PageText("", ["a"], [])),
    "capital letters": (
        "<P>a<SCRIPT>b</Script >c<A HREF=two>d</A>",
        PageText("", ["acd [0]"], ["https://a.org/x/two"]),
    ),
    "letters that become two when small": ("İ<script>b</script>c", PageText("", ["İc"], [])),
    "other links": ("<a href='mailto:x'>m</a><a href='//[x'>b</a><a>n</a><a name=q>o</a>", PageText("", ["mbno"], [])),
    "links in links": (
        "<a href=1>a<a href=2>b</a>",
        PageText("", ["a [0]b [1]"], ["https://a.org/x/1", "https://a.org/x/2"]),
    ),
    "white space": ("<p>a\n\t b</p>\n\n<p> </p><p>c", PageText("", ["a b", "c"], [])),
    "a long line": ("<p>" + "x" * (LONGEST_LINE + 1), PageText("", ["x" * LONGEST_LINE, "x"], [])),
}


@pytest.mark.parametrize(("source", "wanted"), PAGES.values(), ids=PAGES)
def test_html(source: str, wanted: PageText) -> None:
    assert page_text(source, "text/html", URL) == wanted


def test_other_texts_are_told_as_they_are() -> None:
    assert page_text("a  <b>\r\n\r\nc", "text/plain", URL) == PageText("", ["a <b>", "c"], [])


def test_links_beyond_the_most_are_text() -> None:
    page = page_text("<a href=1>x</a>" * (MOST_LINKS + 5), "text/html", URL)
    assert len(page.links) == MOST_LINKS
    assert page.lines[-1].endswith("xxxxx")


@given(st.text("<>/!-= ap\"'hreftilscy&;#x9\0\nİ", max_size=60))
def test_nothing_breaks_it(source: str) -> None:
    page = page_text(source, "text/html", URL)
    assert all(line and "\n" not in line for line in page.lines)


UNITS: Final = (
    "<",
    "<!--",
    "<a",
    "<a ",
    "<a href=",
    "<a href='",
    "<script",
    "<script>",
    "</",
    "<p>",
    "&",
    "&#",
    "&lt",
    "<!",
    "<title>",
    "<a href=1>",
    "</script",
    "<!-->",
    "< ",
    "<a href=1 >x</a>",
)


@pytest.mark.parametrize("unit", UNITS)
def test_no_page_costs_more_than_its_length(unit: str) -> None:
    assert_linear(unit, lambda n: unit * n, lambda source: page_text(source, "text/html", URL), n=4000)
