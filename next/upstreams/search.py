"""Servers that search the web: how each is asked, and its results. Their answers are not trusted."""

import asyncio
import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import aiohttp

from ..settings.tables import SearchSettings
from ..types.json import Json, decode
from .http import session, text_of

_TIME = 10
"""Seconds for one search."""
_MOST_BYTES = 2 * 1024 * 1024
_SNIPPET = 1500
"""Characters of a result."""
_PERIODS = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))
"""Days, and what servers call the period."""
_URL = re.compile(r"https?://(?:[^\s/?#@]*@)?(?P<host>[^\s/?#@:\[\]]+)(?::\d+)?(?:[/?#]\S{0,2000})?", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_JOINERS = "\u200c\u200d"
"""Letters that nobody sees, but that some scripts and emoji need."""


class Query(NamedTuple):
    """One search."""

    text: str
    days: int | None
    """Only what is not older."""
    domains: tuple[str, ...]
    """Only pages of these; of all if empty."""
    blocked: tuple[str, ...]
    """No pages of these."""
    most: int
    """Results."""

    @property
    def words(self) -> str:
        """The text, for servers that know domains only as words of it."""
        sites = " OR ".join(f"site:{domain}" for domain in self.domains)
        return f"{self.text} {f'({sites})' if len(self.domains) > 1 else sites}".strip()

    @property
    def period(self) -> str:
        """The shortest period that holds all the days, if there is one."""
        return next((name for most, name in _PERIODS if self.days is not None and self.days <= most), "")

    @property
    def since(self) -> str:
        """The first of the days."""
        first = None if self.days is None else datetime.now(UTC) - timedelta(days=min(self.days, 36_525))
        return f"{first:%Y-%m-%d}" if first else ""


async def results(settings: SearchSettings, query: Query) -> list[Json] | str:
    """The results, as Codex reads them; or why there are none, as far as a client may know."""
    server, key = _SERVERS[settings.backend], settings.api_key.get_secret_value() if settings.api_key else ""
    headers = {server.header: f"Bearer {key}" if server.header == "authorization" else key} if key else {}
    fields = {name: value for name, value in server.fields(query).items() if value}
    method, given = ("POST", {"json": fields}) if server.takes_json else ("GET", {"params": fields})
    url = f"{settings.base_url or server.base_url}{server.path}"
    answer: Any = None
    try:
        async with (
            asyncio.timeout(_TIME),
            session(url, _TIME, {"accept": "application/json", **headers}) as client,
            # a redirect is not followed: the key would be sent to the new address
            client.request(method, url, allow_redirects=False, **given) as response,  # type: ignore[arg-type]
        ):
            if response.status != 200:
                return f"the search server answered with the status {response.status}"
            answer = decode(await text_of(response, _MOST_BYTES))
    except TimeoutError:
        return "the search server took too long"
    except (aiohttp.ClientError, OSError):
        return "the search server could not be reached"
    for name in server.results:
        answer = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(answer, list):
        return "the answer of the search server has no list of results"
    return [_read(entry) for entry in answer if isinstance(entry, dict) and _fits(entry, query)][: query.most]


def _fits(entry: Json, query: Query) -> bool:
    """Whether this is a page, and of a wanted domain."""
    url = str(entry.get("url"))
    if (found := _URL.fullmatch(url)) is None or not url.isprintable():
        return False
    blocked, domains = (tuple(f".{name}" for name in names) for names in (query.blocked, query.domains))
    host = f".{found['host'].lower()}"
    return not host.endswith(blocked) and (not domains or host.endswith(domains))


def _read(entry: Json) -> Json:
    highlights = entry.get("highlights")  # Exa's, of pages without a text
    joined = " … ".join(map(str, highlights)) if isinstance(highlights, list) else ""
    texts = [*map(entry.get, ("content", "description", "text")), joined]
    snippet = _plain(next((text for text in texts if text and isinstance(text, str)), ""), _SNIPPET)
    url, title = entry["url"], _plain(entry.get("title"), 300)
    return {"type": "text_result", "ref_id": url, "url": url, "title": title or url, "snippet": snippet}


def _plain(text: Any, most: int) -> str:
    """The text on one line, without markup and letters that nobody sees, and not longer than this."""
    text = html.unescape(_TAG.sub("", text[: 4 * most] if isinstance(text, str) else ""))
    text = "".join(letter if letter.isprintable() or letter in _JOINERS else " " for letter in text)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _searxng(query: Query) -> Json:
    return {"q": query.words, "format": "json", "time_range": query.period}


def _brave(query: Query) -> Json:
    plain = {"count": query.most, "text_decorations": "false", "result_filter": "web"}
    return {"q": query.words, **plain, "freshness": query.period and f"p{query.period[0]}"}


def _exa(query: Query) -> Json:
    lists = {"includeDomains": query.domains, "excludeDomains": query.blocked}
    texts = {"contents": {"highlights": True, "text": {"maxCharacters": _SNIPPET}}}
    return {"query": query.text, "numResults": query.most, **lists, "startPublishedDate": query.since, **texts}


def _tavily(query: Query) -> Json:
    lists = {"include_domains": query.domains, "exclude_domains": query.blocked}
    return {"query": query.text, "max_results": query.most, **lists, "start_date": query.since}


class _Server(NamedTuple):
    """A kind of server that searches."""

    fields: Callable[[Query], Json]
    """What it is asked; empty values are not sent."""
    base_url: str
    path: str
    header: str
    """Of its key."""
    takes_json: bool = False
    results: tuple[str, ...] = ("results",)
    """Where its answer has them."""


_BRAVE = "https://api.search.brave.com"
_SERVERS = {
    "searxng": _Server(_searxng, "", "/search", "authorization"),
    "brave": _Server(_brave, _BRAVE, "/res/v1/web/search", "x-subscription-token", results=("web", "results")),
    "exa": _Server(_exa, "https://api.exa.ai", "/search", "x-api-key", takes_json=True),
    "tavily": _Server(_tavily, "https://api.tavily.com", "/search", "authorization", takes_json=True),
}
