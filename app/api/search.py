"""`POST /v1/alpha/search`: Codex's own web search, for any model, by one of four kinds of search servers.

Codex ends its turn when this request fails. So what cannot be done becomes a sentence in the output: the model reads
it and goes on. Nothing is stored, so the reference of a result is its address. Answers of servers are not trusted.
"""

import asyncio
import html
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple

import aiohttp
from msgspec import Meta

from ..settings.tables import SearchSettings
from ..types.json import Json, as_text, without
from ..types.json import decode as decode_answer
from ..types.parse import decode, shaped
from ..types.problems import refuse
from ..types.request import Shape
from ..upstreams.http import session, text_of, with_key
from ..upstreams.model_list import member
from .endpoint import Call
from .sse import warned

_MOST = 12
"""Commands that are run."""
_LONGEST = 400
"""Characters of a query."""
_TIME = 10
"""Seconds for one search."""
_MOST_BYTES = 2 * 1024 * 1024
_SNIPPET = 1500
"""Characters of a result."""
_PERIODS = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))
"""Days, and what servers call the period."""
_DOMAIN = re.compile(r"[a-z0-9.-]{1,253}")
_URL = re.compile(r"https?://(?:[^\s/?#@]*@)?(?P<host>[^\s/?#@:\[\]]+)(?::\d+)?(?:[/?#]\S{0,2000})?", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_JOINERS = "\u200c\u200d"
"""Letters that nobody sees, but that some scripts and emoji need."""
_NO_PAGES = ("invalid",)
"""A domain that has none."""
_NO_GUESTS = "This server searches the web only to callers with a key of this server."
_NO_BACKEND = (
    "This server has no web search: `[search]` in its configuration names none. Only the command `time` works."
)
_NO_LOCATION = "The place of the user has no effect."


class SearchWords(Shape):
    """A search."""

    q: str
    recency: Annotated[int, Meta(ge=0)] | None = None
    """Days."""
    domains: list[str] | None = None


class PageCommand(Shape):
    """Opens a page, which this server does not do."""

    ref_id: str


class TimeCommand(Shape):
    """Tells the time."""

    utc_offset: str


class SearchCommands(Shape):
    """What is to be done. Of all others, the model is told that they are not available."""

    search_query: list[SearchWords] | None = None
    time: list[TimeCommand] | None = None
    open: list[PageCommand] | None = None


class SearchFilters(Shape):
    """Which domains results may be of."""

    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class SearchOptions(Shape):
    """The settings of the client."""

    filters: SearchFilters | None = None
    user_location: Any = None


class SearchRequest(Shape):
    """The whole body."""

    model: str | None = None
    commands: SearchCommands | None = None
    settings: SearchOptions | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None


async def search(call: Call) -> None:
    """One request."""
    if call.caller.is_guest:
        raise refuse("invalid_api_key", _NO_GUESTS)
    raw = decode(call.body)
    request = shaped(SearchRequest, raw, "")
    commands, options = request.commands or SearchCommands(), request.settings or SearchOptions()
    searches, times = commands.search_query or [], commands.time or []
    backend = call.state.settings.search
    if backend.backend == "none" and (searches or not times):
        raise refuse("search_unavailable", _NO_BACKEND)
    filters = options.filters or SearchFilters()
    done = await asyncio.gather(*[_search(backend, words, filters) for words in searches[:_MOST]])
    texts = [text for text, _ in done] + [_time(each.utc_offset) for each in times[: _MOST - len(done)]]
    others = [name for name, given in without(raw.get("commands") or {}, "search_query", "time").items() if given]
    texts += [f"`{name[:64]}` is not available on this server." for name in others[:_MOST]]
    if (count := len(searches) + len(times)) > _MOST:
        texts.append(f"Only the first {_MOST} of {count} commands were run.")
    share = min(request.max_output_tokens or 10_000, 50_000) * 4 // max(len(texts), 1)  # four characters a token
    output = "\n\n".join([text if len(text) <= share else f"{text[:share]}\n[cut off]" for text in texts])
    told = {"output": output or "There was nothing to do.", "results": [each for _, found in done for each in found]}
    await call.answer(told, warned([_NO_LOCATION] if options.user_location else []), "searched", request.model)


async def _search(settings: SearchSettings, words: SearchWords, filters: SearchFilters) -> tuple[str, list[Json]]:
    """The results as a model reads them, and as Codex does."""
    text = words.q.strip()
    if not text:
        return "The query is empty: nothing was searched.", []
    if len(text) > _LONGEST:
        return f"The query was not searched: it is longer than {_LONGEST} characters.", []
    allowed = _domains(filters.allowed_domains) or (_NO_PAGES if filters.allowed_domains else ())
    domains, blocked = _domains(words.domains) or allowed, _domains(filters.blocked_domains)
    found = await _asked(settings, _fields(settings, text, words.recency, domains, blocked))
    if isinstance(found, str):
        return f'The search for "{text}" failed: {found}.', []
    pages = [_read(entry) for entry in found if _is_page(entry, domains, allowed, blocked)][: settings.results]
    lines = [f'Results for "{text}":' if pages else f'The search for "{text}" found nothing.']
    for number, each in enumerate(pages, 1):
        lines += [f"{number}. {each['title']}", *(f"   {each[name]}" for name in ("url", "snippet") if each[name])]
    return "\n".join(lines), pages


def _domains(names: Iterable[str] | None) -> tuple[str, ...]:
    """Those that are host names, up to 20."""
    known = [name.strip().lower().strip(".") for name in names or ()]
    return tuple(dict.fromkeys(name for name in known if _DOMAIN.fullmatch(name)))[:20]


def _time(offset: str) -> str:
    try:
        here = datetime.now(datetime.strptime(offset, "%z").tzinfo)
    except ValueError:
        return f'"{offset[:20]}" is no offset such as "+03:00".'
    return f"The time at UTC{offset} is {here:%A, %Y-%m-%d %H:%M:%S}."


class _Server(NamedTuple):
    """A kind of server that searches."""

    base_url: str
    path: str
    header: str
    """Of its key."""
    takes_json: bool = False
    results: tuple[str, ...] = ("results",)
    """Where its answer has them."""


_BRAVE = "https://api.search.brave.com"
_SERVERS = {
    "searxng": _Server("", "/search", "authorization"),
    "brave": _Server(_BRAVE, "/res/v1/web/search", "x-subscription-token", results=("web", "results")),
    "exa": _Server("https://api.exa.ai", "/search", "x-api-key", takes_json=True),
    "tavily": _Server("https://api.tavily.com", "/search", "authorization", takes_json=True),
}


def _fields(
    settings: SearchSettings, text: str, days: int | None, domains: Sequence[str], blocked: Sequence[str]
) -> Json:
    """What such a server is asked: not older than `days`, of these domains, or of all; empty values are not sent."""
    sites = " OR ".join([f"site:{domain}" for domain in domains])
    words = f"{text} {f'({sites})' if len(domains) > 1 else sites}".strip()
    period = next((name for most, name in _PERIODS if days is not None and days <= most), "")
    since = "" if days is None else f"{datetime.now(UTC) - timedelta(days=min(days, 36_525)):%Y-%m-%d}"
    match settings.backend:
        case "searxng":
            return {"q": words, "format": "json", "time_range": period}
        case "brave":
            about: Json = {"text_decorations": "false", "result_filter": "web", "freshness": period and f"p{period[0]}"}
            return {"q": words, "count": settings.results, **about}
        case "exa":
            contents = {"highlights": True, "text": {"maxCharacters": _SNIPPET}}
            about = {"startPublishedDate": since, "includeDomains": domains, "excludeDomains": blocked}
            return {"query": text, "numResults": settings.results, "contents": contents, **about}
        case _:
            about = {"start_date": since, "include_domains": domains, "exclude_domains": blocked}
            return {"query": text, "max_results": settings.results, **about}


async def _asked(settings: SearchSettings, fields: Json) -> list[Any] | str:
    """What the server found; or why nothing, as far as a client may know."""
    server = _SERVERS[settings.backend]
    headers = {"accept": "application/json", **with_key(server.header, settings.api_key.get_secret_value())}
    asked = {name: value for name, value in fields.items() if value}
    method, given = ("POST", {"json": asked}) if server.takes_json else ("GET", {"params": asked})
    url = f"{settings.base_url or server.base_url}{server.path}"
    try:
        async with (
            asyncio.timeout(_TIME),
            session(url, _TIME, headers) as client,
            # a redirect is not followed: the key would be sent to the new address
            client.request(method, url, allow_redirects=False, **given) as response,  # type: ignore[arg-type]
        ):
            if response.status != 200:
                return f"the search server answered with the status {response.status}"
            found = member(decode_answer(await text_of(response, _MOST_BYTES)), *server.results)
    except TimeoutError:
        return "the search server took too long"
    except (aiohttp.ClientError, OSError):
        return "the search server could not be reached"
    return found if isinstance(found, list) else "the answer of the search server has no list of results"


def _is_page(entry: Any, domains: Sequence[str], allowed: Sequence[str], blocked: Sequence[str]) -> bool:
    """Whether this is a page, and of a wanted domain."""
    url = str(member(entry, "url"))
    if (found := _URL.fullmatch(url)) is None or not url.isprintable():
        return False
    host = found["host"].lower()
    return all(not names or _is_of(host, names) for names in (domains, allowed)) and not _is_of(host, blocked)


def _is_of(host: str, domains: Sequence[str]) -> bool:
    return f".{host}".endswith(tuple([f".{domain}" for domain in domains]))


def _read(entry: Json) -> Json:
    highlights = entry.get("highlights")  # Exa's, of pages without a text
    texts = [as_text(entry.get(name)) for name in ("content", "description", "text")]
    texts += map(str, highlights) if isinstance(highlights, list) and not any(texts) else []
    snippet = _plain(" … ".join(filter(None, texts)), _SNIPPET)
    url, title = entry["url"], _plain(as_text(entry.get("title")), 300)
    return {"type": "text_result", "ref_id": url, "url": url, "title": title or url, "snippet": snippet}


def _plain(text: str, most: int) -> str:
    """The text on one line, without markup and letters that nobody sees, and not longer than this."""
    text = html.unescape(_TAG.sub("", text[: 4 * most]))
    text = "".join(letter if letter.isprintable() or letter in _JOINERS else " " for letter in text)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
