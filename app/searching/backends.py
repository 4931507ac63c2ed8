"""The servers that search: how each is asked, and where its answer has the results. Pure."""

import html
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

import msgspec

from .plain_text import LONGEST_URL, on_one_line

LONGEST_TITLE: Final = 300
LONGEST_SNIPPET: Final = 1500
"""Characters of a result that are kept."""

_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_PERIODS: Final = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))
"""Days, and what servers call the period."""
_LONGEST: Final = 36_525
"""Days beyond which a search is one without a limit."""
_URLS: Final = ("url", "link", "href")
_TITLES: Final = ("title", "name")
_SNIPPETS: Final = ("content", "snippet", "description", "text", "summary")
"""Names of the members of a result; the first one that is there counts."""


class Query(NamedTuple):
    """One search."""

    text: str
    most: int
    """Results."""
    days: int | None = None
    """Only what is not older."""
    domains: tuple[str, ...] = ()
    """Only pages of these; of all if empty."""
    blocked: tuple[str, ...] = ()
    """No pages of these."""

    def allows(self, url: str) -> bool:
        """Whether a page may be a result."""
        return allows(url, self.domains, self.blocked)


class Found(NamedTuple):
    """One result."""

    url: str
    title: str
    snippet: str


class SearchAsk(NamedTuple):
    """A request to a server that searches."""

    url: str
    headers: dict[str, str]
    body: bytes | None = None
    """Without one it is a GET."""


class SearchPlace(NamedTuple):
    """Which server it is."""

    base_url: str
    key: str | None


class Backend(NamedTuple):
    """A kind of server that searches."""

    base_url: str
    """Its address, unless the settings have one."""
    ask: Callable[[Query, SearchPlace, date], SearchAsk]
    results_path: str = "results"
    """Where its answer has the results."""


def allows(url: str, domains: Iterable[str], blocked: Iterable[str]) -> bool:
    """Whether a client wants pages of this address: only those of `domains`, if there are any; none of `blocked`."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    if any(_is_in(host, domain) for domain in blocked):
        return False
    wanted = list(domains)
    return not wanted or any(_is_in(host, domain) for domain in wanted)


def read_results(data: Any, path: str, query: Query) -> list[Found] | None:
    """The results in an answer; None if it has no list of results."""
    for name in filter(None, path.split(".")):
        data = data.get(name) if isinstance(data, dict) else None
    if not isinstance(data, list):
        return None
    found: list[Found] = []
    for entry in data:
        if not isinstance(entry, dict) or len(found) == query.most:
            continue
        url = _first(entry, _URLS)
        if _is_web_address(url) and query.allows(url):
            title, snippet = _plain(_first(entry, _TITLES), LONGEST_TITLE), _first(entry, _SNIPPETS)
            found.append(Found(url, title or url, _plain(snippet or _joined(entry), LONGEST_SNIPPET)))
    return found


def _is_in(host: str, domain: str) -> bool:
    domain = domain.lower().strip(".")
    return host == domain or host.endswith(f".{domain}")


def _is_web_address(url: str) -> bool:
    if not url.startswith(("https://", "http://")) or len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _first(entry: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((entry[name] for name in names if isinstance(entry.get(name), str) and entry[name]), "")


def _joined(entry: dict[str, Any]) -> str:
    """What Exa calls highlights."""
    texts = entry.get("highlights")
    return " … ".join(text for text in texts if isinstance(text, str)) if isinstance(texts, list) else ""


def _plain(text: str, most: int) -> str:
    """The text on one line, without markup, and not longer than this."""
    text = on_one_line(html.unescape(_TAG.sub("", text[: 4 * most])))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _with_sites(query: Query) -> str:
    """The words of a query, for servers that know domains only as words."""
    if not query.domains:
        return query.text
    sites = " OR ".join(f"site:{domain}" for domain in query.domains)
    return f"{query.text} {sites if len(query.domains) == 1 else f'({sites})'}"


def _period(query: Query) -> str | None:
    """The shortest period that holds all the days; None if there is none."""
    if query.days is None:
        return None
    return next((name for most, name in _PERIODS if query.days <= most), None)


def _since(query: Query, today: date) -> str | None:
    """The first of the days; None if all days are wanted."""
    if query.days is None or query.days > _LONGEST:
        return None
    return (today - timedelta(days=query.days)).isoformat()


def _json_ask(url: str, headers: dict[str, str], **body: Any) -> SearchAsk:
    given = {name: value for name, value in body.items() if value not in (None, [])}
    return SearchAsk(url, headers | {"content-type": "application/json"}, msgspec.json.encode(given))


def _bearer(key: str | None) -> dict[str, str]:
    return {} if key is None else {"authorization": f"Bearer {key}"}


def _searxng(query: Query, place: SearchPlace, _today: date) -> SearchAsk:
    fields = {"q": _with_sites(query), "format": "json"}
    if (period := _period(query)) is not None:
        fields["time_range"] = period
    return SearchAsk(f"{place.base_url}/search?{urlencode(fields)}", _bearer(place.key))


def _brave(query: Query, place: SearchPlace, _today: date) -> SearchAsk:
    fields = {"q": _with_sites(query), "count": str(query.most), "text_decorations": "false", "result_filter": "web"}
    if (period := _period(query)) is not None:
        fields["freshness"] = f"p{period[0]}"
    url = f"{place.base_url}/res/v1/web/search?{urlencode(fields)}"
    return SearchAsk(url, {"x-subscription-token": place.key or ""})


def _exa(query: Query, place: SearchPlace, today: date) -> SearchAsk:
    return _json_ask(
        f"{place.base_url}/search",
        {"x-api-key": place.key or ""},
        query=query.text,
        numResults=query.most,
        includeDomains=list(query.domains),
        excludeDomains=list(query.blocked),
        startPublishedDate=_since(query, today),
        contents={"highlights": True, "text": {"maxCharacters": LONGEST_SNIPPET}},
    )


def _tavily(query: Query, place: SearchPlace, today: date) -> SearchAsk:
    return _json_ask(
        f"{place.base_url}/search",
        _bearer(place.key),
        query=query.text,
        max_results=query.most,
        include_domains=list(query.domains),
        exclude_domains=list(query.blocked),
        start_date=_since(query, today),
    )


BACKENDS: Final[Mapping[str, Backend]] = {
    "searxng": Backend("", _searxng),
    "brave": Backend("https://api.search.brave.com", _brave, "web.results"),
    "exa": Backend("https://api.exa.ai", _exa),
    "tavily": Backend("https://api.tavily.com", _tavily),
}
