"""The pages that one request opens: each is downloaded and read once, and all together cost a bounded time.

They are addresses of a model, so they are read by the fetcher that checks every address.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from ..off_loop import off_loop
from ..protocol.problems import ProblemError
from .page_text import PageText, page_text
from .plain_text import on_one_line

if TYPE_CHECKING:
    from ..fetching.fetcher import Fetched, Fetcher

LARGEST_PAGE: Final = 2 * 1024 * 1024
"""Bytes of a page."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of all pages of a request."""
LONGEST_REFERENCE: Final = 400
"""Characters of a reference that are repeated in a sentence."""
AROUND: Final = 2
"""Lines before and behind a line that was found."""
MOST_FOUND: Final = 20
"""Places in a page that are shown."""
MOST_LINKS_TOLD: Final = 50
"""Links of which the addresses are told."""
NOTHING_THERE: Final = "There is no text from that line on."
NEVER_FETCHES: Final = 'No page was opened: this server opens none (`fetch_urls = "never"`).'


_NUMBER: Final = re.compile(r"\[([0-9]{1,4})\]")


class PageFailedError(Exception):
    """A page cannot be opened, or does not have what is wanted of it; the text is told to the model."""


class NotInPageError(PageFailedError):
    """A page does not have what is wanted of it."""


class OpenedPages:
    """The pages of one request."""

    def __init__(
        self,
        fetcher: "Fetcher | None",
        owner: str,
        allows: Callable[[str], bool],
        *,
        member: str,
        why_none: str = NEVER_FETCHES,
    ) -> None:
        """`owner` is the caller. `allows`: whether the client wants pages of this address.

        `member` is the name of the reference, as the model gives it. `why_none` says why no page is opened, where there
        is no fetcher.
        """
        self._member = member
        self._fetcher = fetcher
        self._why_none = why_none
        self._owner = owner
        self._allows = allows
        self._left = MOST_BYTES
        self._read: dict[str, PageText | PageFailedError] = {}
        self._reading: dict[str, asyncio.Lock] = {}

    async def page(self, ref: str) -> PageText:
        """The page of this reference, which is its address. Raises `PageFailedError`."""
        async with self._reading.setdefault(ref, asyncio.Lock()):
            if ref not in self._read:
                try:
                    self._read[ref] = await self._opened(ref)
                except PageFailedError as error:
                    self._read[ref] = error
        page = self._read[ref]
        if isinstance(page, PageFailedError):
            raise PageFailedError(*page.args)
        return page

    async def _opened(self, ref: str) -> PageText:
        from ..fetching.fetcher import Budget  # noqa: PLC0415 — its library costs 0.15 s

        shown = on_one_line(ref[:LONGEST_REFERENCE])
        if self._fetcher is None:
            raise PageFailedError(self._why_none)
        if not ref.startswith(("http://", "https://")):
            raise PageFailedError(f'"{shown}" is not known here. Name a page by its address.')
        if not self._allows(ref):
            raise PageFailedError(f"{shown} was not opened: the client does not allow its domain.")
        try:
            fetched = await self._fetcher.fetch(ref, self._member, "file", Budget(LARGEST_PAGE), self._owner)
        except ProblemError as error:
            raise PageFailedError(f"{shown} was not opened. {error.problem.message}") from None
        if not self._allows(fetched.url):
            raise PageFailedError(f"{shown} was not opened: it leads to a domain that the client does not allow.")
        if not fetched.kind.startswith(("text/", "application/json", "application/xml")):
            raise PageFailedError(f"{shown} is not a text, but {fetched.kind}.")
        if len(fetched.data) > self._left:
            most = MOST_BYTES // (1024 * 1024)
            raise PageFailedError(f"{shown} was not read: all pages of one request may have {most} MiB.")
        self._left -= len(fetched.data)
        return await off_loop(len(fetched.data), _text_of, fetched)


def lines_from(page: PageText, first: int, most: int) -> str:
    """The text of a page from this line on, up to about so many characters. Links have numbers."""
    lines = list(_numbered(page.lines, first, most)) or [NOTHING_THERE]
    return "\n".join([f"{_head(page)} [n] is the number of a link, for `click`.", *lines])


def lines_with_links(page: PageText, first: int, most: int) -> str:
    """The same with the addresses of the links, and with the number of the next line, if there is one."""
    lines = list(_numbered(page.lines, first, most))
    following = first + len(lines)
    if lines and following < len(page.lines):
        lines.append(f"The text goes on: open the page again, with `line` {following}.")
    numbers = dict.fromkeys(int(number) for line in lines for number in _NUMBER.findall(line))
    links = [f"[{number}] {page.links[number]}" for number in numbers if number < len(page.links)]
    told = ["Links:", *links[:MOST_LINKS_TOLD]] if links else []
    return "\n".join([_head(page), *(lines or [NOTHING_THERE]), *told])


def link_of(page: PageText, number: int) -> str:
    """The address of the link with this number. Raises `PageFailedError` if the page has fewer."""
    if number >= len(page.links):
        count = len(page.links)
        raise NotInPageError(f"{page.url} has no link {number}: it has {count} links, counted from 0.")
    return page.links[number]


def places_of(page: PageText, pattern: str) -> str:
    """The lines with these words, and those around them. Raises `PageFailedError` if there are none."""
    wanted = pattern.lower()
    shown = on_one_line(pattern[:LONGEST_REFERENCE])
    places = [number for number, text in enumerate(page.lines) if wanted in text.lower()]
    if not places or not wanted:
        raise NotInPageError(f'"{shown}" is not in {page.url}.')
    numbers = sorted(
        {
            number
            for place in places[:MOST_FOUND]
            for number in range(place - AROUND, place + AROUND + 1)
            if 0 <= number < len(page.lines)
        }
    )
    head = f'Lines of {page.url} with "{shown}": {len(places)}'
    return "\n".join([head, *(f"L{number}: {page.lines[number]}" for number in numbers)])


def _head(page: PageText) -> str:
    count = f"the first {len(page.lines)} lines" if page.cut else f"{len(page.lines)} lines"
    return f'Page "{page.title or page.url}" ({page.url}), {count}.'


def _text_of(fetched: "Fetched") -> PageText:
    return page_text(fetched.data.decode("utf-8", "replace"), fetched.kind, fetched.url)


def _numbered(lines: list[str], first: int, most: int) -> Iterator[str]:
    size = 0
    for number, text in islice(enumerate(lines), min(first, len(lines)), None):
        yield f"L{number}: {text}"
        size += len(text)
        if size > most:
            return
