"""The text of web pages, and what hostile ones cost."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.searching.opened_pages import LARGEST_PAGE
from app.searching.page_text import LONGEST_LINE, MOST_LINES, MOST_LINKS, MOST_TAGS, PageText, page_text
from tests.support.scan import assert_linear, seconds_of

URL: Final = "https://a.org/x/page"
ODD_LINKS: Final = (
    f"<a href='javascript:alert(1)'>a</a><a href='data:,x'>b</a><a href='http://x/{'y' * 3000}'>c</a>"
    "<a href='http://x/ y'>d</a><a href='http://x/\x1b[0m'>e</a>"
)
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
    "another base": (
        "<base href='https://b.org/y/'><base href='https://c.org/'><a href=two>b</a>",
        PageText("", ["b [0]"], ["https://b.org/y/two"]),
    ),
    "a base that is none": ("<base href='javascript:x'><a href=two>b</a>", PageText("", ["b [0]"], [f"{URL[:-4]}two"])),
    "addresses that are none": (
        ODD_LINKS,
        PageText("", ["abcde"], []),
    ),
    "letters that nobody sees": (
        "<title>A\u202eB</title>a\x1b[31m\x00b\u202e\u200b\U000e0041c\u0646\u200c\u0647",
        PageText("AB", ["a [31m bc\u0646\u200c\u0647"], []),
    ),
    "white space": ("<p>a\n\t b</p>\n\n<p> </p><p>c", PageText("", ["a b", "c"], [])),
    "a long line": ("<p>" + "x" * (LONGEST_LINE + 1), PageText("", ["x" * LONGEST_LINE, "x"], [])),
}


@pytest.mark.parametrize(("source", "wanted"), PAGES.values(), ids=PAGES)
def test_html(source: str, wanted: PageText) -> None:
    assert page_text(source, "text/html", URL)[:3] == wanted[:3]


def test_other_texts_are_told_as_they_are() -> None:
    assert page_text("a  <b>\r\n\r\nc\rd", "text/plain", URL)[:3] == ("", ["a <b>", "c", "d"], [])


def test_links_beyond_the_most_are_text() -> None:
    page = page_text("<a href=1>x</a>" * (MOST_LINKS + 5), "text/html", URL)
    assert len(page.links) == MOST_LINKS
    assert page.lines[-1].endswith("xxxxx")


CUT: Final[dict[str, tuple[str, str, int]]] = {
    "lines": ("<p>x" * (MOST_LINES + 5), "text/html", MOST_LINES),
    "tags": ("<b>" * (MOST_TAGS + 5) + "x", "text/html", 0),
    "lines without markup": ("x\n" * (MOST_LINES + 5), "text/plain", MOST_LINES),
    "empty lines": ("\n" * (MOST_TAGS + 70_000) + "x", "text/plain", 0),
}


@pytest.mark.parametrize(("source", "kind", "lines"), CUT.values(), ids=CUT)
def test_what_is_not_read_of_a_page(source: str, kind: str, lines: int) -> None:
    page = page_text(source, kind, URL)
    assert (len(page.lines), page.cut) == (lines, True)
    assert not page_text(source[: len(source) // 20], kind, URL).cut


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


HTML, TEXT = "text/html", "text/plain"
HOSTILE: Final = [
    *((HTML, unit) for unit in ("<", "<p>", "<b>", "<p>x", "<a href=1 >x</a>", "&#9;", "\x00", "<br>\x1b")),
    *((TEXT, unit) for unit in ("\n", "x\n", "\x00")),
]


def test_the_largest_page_costs_about_as_much_as_its_words() -> None:
    """What costs more than words is limited in number: 700,000 tags once took ten times as long."""

    def cost(kind: str, unit: str) -> float:
        source = unit * (LARGEST_PAGE // len(unit))
        return seconds_of(lambda: page_text(source, kind, URL), runs=1)

    words = min(cost(HTML, "word ") for _ in range(5))
    for kind, unit in HOSTILE:
        tries = (cost(kind, unit) for _ in range(4))  # other work on the machine may disturb one
        assert any(each < 9 * words for each in tries), (kind, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_no_page_costs_more_than_its_length(unit: str) -> None:
    assert_linear(unit, lambda n: unit * n, lambda source: page_text(source, "text/html", URL), n=4000)
