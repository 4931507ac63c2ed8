"""The text of a web page, line by line, with its links numbered. Pure, and linear in the length of the page.

It does not repair markup as browsers do: what a tag does not end correctly is left out or shown as text.
"""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import urljoin

MOST_LINKS: Final = 1000
LONGEST_TAG: Final = 8192
"""Characters of a tag that are looked at."""
LONGEST_LINE: Final = 1000
"""Characters of a line of a page; a longer one is several."""

_NAME: Final = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]{0,20})")
_HREF: Final = re.compile(r"""\shref\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_SPACES: Final = re.compile(r"\s+")
_UNSHOWN: Final = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "textarea", "select"})
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


def page_text(source: str, kind: str, url: str) -> PageText:
    """The text of a page of this media type."""
    if kind not in {"text/html", "text/xml", "application/xml"}:
        return PageText("", list(_lines(source.splitlines())), [])
    return _Markup(source, url).read()


def _lines(texts: list[str]) -> Iterator[str]:
    """Lines that are not empty and not too long."""
    for text in texts:
        line = _SPACES.sub(" ", text).strip()
        for start in range(0, len(line), LONGEST_LINE):
            yield line[start : start + LONGEST_LINE]


class _Markup:
    """Reads one page of HTML."""

    def __init__(self, source: str, url: str) -> None:
        self._source = source
        self._lower = source.lower() if source.isascii() else _lowered(source)
        self._url = url
        self._texts: list[str] = []
        self._title = ""
        self._links: list[str] = []
        self._open_link = False

    def read(self) -> PageText:
        """The whole page."""
        at = 0
        source = self._source
        while (tag := source.find("<", at)) >= 0:
            self._texts.append(html.unescape(source[at:tag]))
            at = self._after(tag)
        self._texts.append(html.unescape(source[at:]))
        return PageText(self._title, list(_lines("".join(self._texts).split("\0"))), self._links)

    def _after(self, at: int) -> int:
        """Reads what begins with this `<`; where it ends."""
        if self._source.startswith("<!--", at):
            return self._end("-->", at + 4)
        name = _NAME.match(self._source, at)
        if name is None:
            if self._source.startswith(("<!", "<?", "</"), at):
                return self._end(">", at)
            self._texts.append("<")
            return at + 1
        end = self._end(">", at)
        word, closes = name[1].lower(), self._source[at + 1] == "/"
        if word in _UNSHOWN and not closes:
            return self._end(">", self._find(f"</{word}", end))
        if word == "title" and not closes and not self._title:
            close = self._find("</title", end)
            self._title = _SPACES.sub(" ", html.unescape(self._source[end : min(close, end + LONGEST_LINE)])).strip()
            return self._end(">", close)
        if word == "a":
            self._link(self._source[at : min(end, at + LONGEST_TAG)], closes=closes)
        elif word in _BLOCKS:
            self._texts.append("\0")
        return end

    def _link(self, tag: str, *, closes: bool) -> None:
        if self._open_link:
            self._texts.append(f" [{len(self._links) - 1}]")
            self._open_link = False
        href = None if closes or len(self._links) >= MOST_LINKS else _HREF.search(tag)
        if href is None:
            return
        try:
            address = urljoin(self._url, html.unescape(href[1].strip("\"'")).strip())
        except ValueError:
            return
        if address.startswith(("http://", "https://")):
            self._links.append(address)
            self._open_link = True

    def _find(self, text: str, start: int) -> int:
        found = self._lower.find(text, start)
        return len(self._source) if found < 0 else found

    def _end(self, text: str, start: int) -> int:
        """The place behind this text; the end of the page if it does not come."""
        found = self._source.find(text, start)
        return len(self._source) if found < 0 else found + len(text)


def _lowered(source: str) -> str:
    """The same length, with small letters for A to Z: some other letters become two."""
    return source.translate({upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)})
