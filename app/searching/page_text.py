"""The text of a web page, line by line, with its links numbered. Pure, and linear in the length of the page.

It does not repair markup as browsers do: what a tag does not end correctly is left out or shown as text. Each step
looks at a piece of the page only, so that a thread that reads a long page lets others run.
"""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import urljoin

from .plain_text import LONGEST_URL, PIECE, on_one_line, pieces_of

MOST_LINKS: Final = 1000
MOST_LINES: Final = 20_000
"""Lines of a page that are read."""
MOST_TAGS: Final = 100_000
"""Tags of a page that are read; in a page without markup, lines, also empty ones."""
LONGEST_TAG: Final = 8192
"""Characters of a tag that are looked at."""
LONGEST_LINE: Final = 1000
"""Characters of a line of a page; a longer one is several."""
LONGEST_TITLE: Final = 300

_MARK: Final = re.compile(r"<(?:(/?)([a-zA-Z][a-zA-Z0-9-]{0,20})|!--|[!?/])")
_LONGEST_MARK: Final = 32
_HREF: Final = re.compile(r"""\shref\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_CLOSING: Final = re.compile(
    r"</(title|script|style|noscript|template|svg|iframe|textarea|select)", re.IGNORECASE | re.ASCII
)
_UNSHOWN: Final = frozenset({"title", "script", "style", "noscript", "template", "svg", "iframe", "textarea", "select"})
"""Tags whose content is no text of the page."""
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li",
    "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul",
})  # fmt: skip
"""Tags that end a line."""


class PageText(NamedTuple):
    """What a page says."""

    title: str
    lines: list[str]
    links: list[str]
    """The addresses of its links; the number behind a link's text is its index here."""
    cut: bool = False
    """Whether it has more lines or tags than are read."""
    url: str = ""
    """Its address, behind all redirects."""
    size: int = 0
    """Characters of its source."""


def page_text(source: str, kind: str, url: str) -> PageText:
    """The text of the page of this media type that was found at this address."""
    if kind in {"text/html", "text/xml", "application/xml"}:
        return _Markup(source, url).read()
    lines: list[str] = []
    seen = 0
    for piece in pieces_of(source):
        texts = piece.replace("\r", "\n").split("\n")
        seen += len(texts)
        for text in filter(None, texts):
            lines.extend(_lines(text))
        if len(lines) > MOST_LINES or seen > MOST_TAGS:
            return PageText("", lines[:MOST_LINES], [], cut=True, url=url, size=len(source))
    return PageText("", lines, [], url=url, size=len(source))


def _lines(text: str) -> Iterator[str]:
    """The text on one line, or on several if it is too long; nothing if it is empty."""
    line = on_one_line(text)
    for start in range(0, len(line), LONGEST_LINE):
        yield line[start : start + LONGEST_LINE]


class _Markup:
    """Reads one page of HTML."""

    def __init__(self, source: str, url: str) -> None:
        self._source = source
        self._url = self._base = url
        self._line: list[str] = []
        self._lines: list[str] = []
        self._title = ""
        self._links: list[str] = []
        self._open_link = False

    def read(self) -> PageText:
        """The whole page, or as much of it as may be read."""
        source = self._source
        at = tags = 0
        while (mark := self._next(_MARK, at)) is not None:
            tags += 1
            if tags > MOST_TAGS or len(self._lines) > MOST_LINES:
                break
            if mark.start() > at:
                self._line.append(html.unescape(source[at : mark.start()]))
            at = self._after(mark)
        else:
            self._line.append(html.unescape(source[at:]))
        self._end_line()
        cut = mark is not None or len(self._lines) > MOST_LINES
        return PageText(self._title, self._lines[:MOST_LINES], self._links, cut=cut, url=self._url, size=len(source))

    def _next(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first place from here on that fits."""
        while at < len(self._source):
            found = pattern.search(self._source, at, at + PIECE + _LONGEST_MARK)
            if found is not None and found.start() < at + PIECE:
                return found
            at += PIECE
        return None

    def _after(self, mark: re.Match[str]) -> int:
        """Reads what begins with this mark; where it ends."""
        at, name = mark.start(), mark[2]
        if name is None:
            return self._end("-->", mark.end()) if mark[0] == "<!--" else self._end(">", at)
        end = self._end(">", at)
        word, closes = name.lower(), bool(mark[1])
        if word in _BLOCKS:
            self._end_line()
        elif word == "a":
            self._link(self._source[at : min(end, at + LONGEST_TAG)], closes=closes)
        elif word in _UNSHOWN and not closes:
            stop = self._closing(word, end)
            if word == "title" and not self._title:
                self._title = on_one_line(html.unescape(self._source[end : min(stop, end + LONGEST_LINE)]))
                self._title = self._title[:LONGEST_TITLE]
            return self._end(">", stop)
        elif word == "base" and self._base == self._url:
            self._base = self._address(self._source[at : min(end, at + LONGEST_TAG)]) or self._base
        return end

    def _closing(self, word: str, at: int) -> int:
        """Where the tag that closes this one begins."""
        while (found := self._next(_CLOSING, at)) is not None:
            if found[1].lower() == word:
                return found.start()
            at = found.end()
        return len(self._source)

    def _end_line(self) -> None:
        if self._line:
            for piece in pieces_of("".join(self._line)):
                self._lines.extend(_lines(piece))
            self._line = []

    def _link(self, tag: str, *, closes: bool) -> None:
        if self._open_link:
            self._line.append(f" [{len(self._links) - 1}]")
            self._open_link = False
        address = None if closes or len(self._links) >= MOST_LINKS else self._address(tag)
        if address is not None:
            self._links.append(address)
            self._open_link = True

    def _address(self, tag: str) -> str | None:
        """The address in this tag, if it is one of the web."""
        href = _HREF.search(tag)
        if href is None:
            return None
        try:
            address = urljoin(self._base, html.unescape(href[1].strip("\"'")).strip())
        except ValueError:
            return None
        is_web = address.startswith(("http://", "https://")) and len(address) <= LONGEST_URL
        return address if is_web and address.isprintable() and " " not in address else None

    def _end(self, text: str, start: int) -> int:
        """The place behind this text; the end of the page if it does not come."""
        found = self._source.find(text, start)
        return len(self._source) if found < 0 else found + len(text)
