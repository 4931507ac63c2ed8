"""The calls with which a model searches and opens pages, and what came of each."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ..emitter.deltas import SearchMade
from ..prompt.nouns import Assistant, AssistantMessage, Entry, System, Text, ToolOutput, User
from ..prompt.own_search import OwnSearch
from .message_record import RecordedCall

NO_MORE: Final = "There are no more searches for this answer. Answer with what you know, and say what is uncertain."
NO_MORE_PAGES: Final = "No more pages are opened for this answer. Answer with what you know, and say what is uncertain."
NO_QUERY: Final = "Nothing was searched: the call has no `query`."
NO_PAGE: Final = "Nothing was opened: the call has no `url` that begins with https:// or http://."
LONGEST_QUERY: Final = 400
LONGEST_WORDS: Final = 200
LONGEST_PAGE_URL: Final = 2048


class WantedSearch(NamedTuple):
    """A search that the model wants, or a page. At most one of `query` and `page` is set."""

    query: str = ""
    days: int | None = None
    page: str = ""
    """Its address."""
    line: int = 0
    """The first line that is wanted of the page."""
    words: str = ""
    """Words to be found in the page; empty: the page itself is wanted."""
    refusal: str = ""
    """What the model is told if nothing is run."""

    def made(self, pages: Sequence["FoundPage"] = (), *, failed: bool, shows_results: bool = False) -> SearchMade:
        """What the client is shown of it."""
        urls = tuple(page.url for page in pages if self.query)
        results = tuple(page._asdict() for page in pages if self.query) if shows_results else ()
        return SearchMade(self.query, urls, failed=failed, page=self.page, words=self.words, results=results)


class FoundPage(NamedTuple):
    """A page that was found or opened."""

    url: str
    title: str
    snippet: str = ""


class SearchOutput(NamedTuple):
    """What a search found, or the text of a page."""

    text: str
    """For the model."""
    pages: Sequence[FoundPage] = ()
    failed: bool = False


def wanted_by(call: RecordedCall, search: OwnSearch) -> WantedSearch:
    """What this call wants."""
    return _search(call.read()) if call.name == search.spec.name else _page(call.read())


def address_is_in(url: str, entries: Sequence[Entry]) -> bool:
    """Whether this address stands in these entries, perhaps without its scheme."""
    wanted = url.partition("://")[2].partition("#")[0].rstrip("/")
    return bool(wanted) and any(wanted in text for entry in entries for text in _texts(entry))


def _texts(entry: Entry) -> Iterator[str]:
    match entry:
        case System():
            yield entry.text
        case User() | ToolOutput():
            yield from (part.text for part in entry.parts if isinstance(part, Text))
        case Assistant():
            messages = (piece for piece in entry.pieces if isinstance(piece, AssistantMessage))
            yield from (part.text for message in messages for part in message.parts)


def _search(arguments: dict[str, Any]) -> WantedSearch:
    days = arguments.get("recency_days")
    query = _words(arguments.get("query"), LONGEST_QUERY)
    return WantedSearch(query, days if type(days) is int and days > 0 else None, refusal="" if query else NO_QUERY)


def _page(arguments: dict[str, Any]) -> WantedSearch:
    url, line = arguments.get("url"), arguments.get("line")
    if not isinstance(url, str) or not url.startswith(("https://", "http://")) or len(url) > LONGEST_PAGE_URL:
        return WantedSearch(refusal=NO_PAGE)
    line = line if type(line) is int and line > 0 else 0
    return WantedSearch(page=url, line=line, words=_words(arguments.get("find"), LONGEST_WORDS))


def _words(value: Any, most: int) -> str:
    return " ".join(value.split())[:most] if isinstance(value, str) else ""
