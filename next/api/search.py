"""`POST /v1/alpha/search`: Codex's own web search, for any model.

Codex ends its turn when this request fails. So what cannot be done becomes a sentence in the output: the model reads
it and goes on. Nothing is stored, so the reference of a result is its address.
"""

import asyncio
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from ..settings.tables import SearchSettings
from ..types.json import Json
from ..types.parse import decode, shaped
from ..types.problems import Warning, refuse
from ..types.request import Shape
from ..upstreams.search import Query, results
from .endpoint import Call
from .sse import answer, warned

_MOST = 12
"""Commands that are run."""
_LONGEST = 400
"""Characters of a query."""
_DOMAIN = re.compile(r"[a-z0-9.-]{1,253}")
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]")
_NO_PAGES = ("invalid",)
"""A domain that has none."""
_NO_GUESTS = "This server searches the web only to callers with a key of this server."
_NO_BACKEND = (
    "This server has no web search: `[search]` in its configuration names none. Only the command `time` works."
)
_NO_LOCATION = Warning("settings.user_location", "search", "The place of the user has no effect.")


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
    others = [
        name for name, given in (raw.get("commands") or {}).items() if given and name not in ("search_query", "time")
    ]
    texts += [f"`{name[:64]}` is not available on this server." for name in others[:_MOST]]
    if (count := len(searches) + len(times)) > _MOST:
        texts.append(f"Only the first {_MOST} of {count} commands were run.")
    share = min(request.max_output_tokens or 10_000, 50_000) * 4 // max(len(texts), 1)  # four characters a token
    output = "\n\n".join([text if len(text) <= share else f"{text[:share]}\n[cut off]" for text in texts])
    told = {"output": output or "There was nothing to do.", "results": [each for _, found in done for each in found]}
    await answer(call.send, 200, told, [*call.headers, *warned([_NO_LOCATION] if options.user_location else [])])
    call.state.ended(call.scope["request_id"], call.caller, "searched", model=request.model)


async def _search(settings: SearchSettings, words: SearchWords, filters: SearchFilters) -> tuple[str, list[Json]]:
    """The results as a model reads them, and as Codex does."""
    text = words.q.strip()
    if not text:
        return "The query is empty: nothing was searched.", []
    if len(text) > _LONGEST:
        return f"The query was not searched: it is longer than {_LONGEST} characters.", []
    allowed = _domains(filters.allowed_domains) or (_NO_PAGES if filters.allowed_domains else ())
    domains = _domains(words.domains) or allowed
    if allowed:
        ends = tuple(f".{domain}" for domain in allowed)
        domains = tuple(domain for domain in domains if f".{domain}".endswith(ends)) or _NO_PAGES
    query = Query(text, words.recency, domains, _domains(filters.blocked_domains), settings.results)
    found = await results(settings, query)
    if isinstance(found, str):
        return f'The search for "{text}" failed: {found}.', []
    lines = [f'Results for "{text}":' if found else f'The search for "{text}" found nothing.']
    for number, each in enumerate(found, 1):
        lines += [f"{number}. {each['title']}", *(f"   {each[name]}" for name in ("url", "snippet") if each[name])]
    return "\n".join(lines), found


def _domains(names: Iterable[str] | None) -> tuple[str, ...]:
    """Those that are host names, up to 20."""
    known = [name.strip().lower().strip(".") for name in names or ()]
    return tuple(dict.fromkeys(name for name in known if _DOMAIN.fullmatch(name)))[:20]


def _time(offset: str) -> str:
    if not _OFFSET.fullmatch(offset):
        return f'"{offset[:20]}" is no offset such as "+03:00".'
    here = datetime.now(datetime.strptime(offset, "%z").tzinfo)
    return f"The time at UTC{offset} is {here:%A, %Y-%m-%d %H:%M:%S}."
