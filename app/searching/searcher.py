"""Runs the commands of a search request: searches, and the time. What fails is told to the model.

Theory of operation
-------------------
Codex ends its turn when this request fails. So a request fails only if nothing of it can be done, by a limit of the
caller or for want of a server that searches. Everything else becomes a sentence in the output: the model reads it and
goes on.

Nothing is stored between two requests. So the reference of a result is its address.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..protocol.problems import refuse
from ..protocol.warnings import ClientWarning
from .backends import Found, Query, allows
from .search_request import SearchCommands, SearchRequest, SearchSettings, SearchWords, TimeCommand

if TYPE_CHECKING:
    from .search_client import SearchClient

MOST_COMMANDS: Final = 12
"""Commands of one request that are run."""
AT_ONCE: Final = 4
"""Commands of one request that run at the same time."""
LONGEST_QUERY: Final = 400
MOST_DOMAINS: Final = 20
CHARACTERS_PER_TOKEN: Final = 4
DEFAULT_TOKENS: Final = 10_000
MOST_TOKENS: Final = 50_000
"""Tokens of the output."""
NOWHERE: Final = "invalid"
"""A domain that no page has."""
NO_BACKEND: Final = (
    "This server has no web search: `[search]` in its configuration names none. Only the command `time` works."
)
NO_LOCATION: Final = ClientWarning("settings.user_location", "search", "The place of the user has no effect.")


class Searched(NamedTuple):
    """The answer to a search request."""

    output: str
    """What the model reads."""
    results: list[Found]
    warnings: list[ClientWarning]
    failed: int
    """Commands that failed."""


class _FailedError(Exception):
    """A command failed; the text is told to the model."""


class _Done(NamedTuple):
    text: str
    results: Sequence[Found] = ()
    failed: bool = False


_Job = Callable[[], Awaitable[_Done]]


class Searcher:
    """Searches. Without a client only the time is known."""

    def __init__(
        self,
        client: "SearchClient | None",
        *,
        most_results: int,
        now: Callable[[], float],
        count: Callable[[str, str], None] | None = None,
    ) -> None:
        """`count` is called with the name of each action, and what came of it."""
        self._client = client
        self._most_results = most_results
        self._now = now
        self._count = count or (lambda *_: None)

    async def run(self, request: SearchRequest, owner: str) -> Searched:
        """The answer to this request. Raises `ProblemError` if nothing of it can be done. `owner` is the caller."""
        commands, settings = request.commands, request.settings
        tokens = min(request.max_output_tokens or DEFAULT_TOKENS, MOST_TOKENS)
        jobs = list(self._jobs(commands, settings, owner))
        if self._client is None and not (commands.time and len(jobs) == len(commands.time)):
            raise refuse("search_unavailable", NO_BACKEND)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(job: _Job) -> _Done:
            async with slots:
                try:
                    return await job()
                except _FailedError as error:
                    return _Done(str(error), failed=True)

        tasks = [asyncio.ensure_future(one(job)) for job in jobs[:MOST_COMMANDS]]
        try:
            done = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        done += [_Done(f"`{name}` is not available on this server.", failed=True) for name in commands.unknown]
        if len(jobs) > MOST_COMMANDS:
            done.append(_Done(f"Only the first {MOST_COMMANDS} of {len(jobs)} commands were run.", failed=True))
        output = _joined([each.text for each in done], tokens * CHARACTERS_PER_TOKEN)
        return Searched(
            output or "There was nothing to do.",
            [result for each in done for result in each.results],
            [NO_LOCATION] if settings.user_location else [],
            sum(each.failed for each in done),
        )

    def _jobs(self, commands: SearchCommands, settings: SearchSettings, owner: str) -> Iterable[_Job]:
        for words in commands.search_query or ():
            yield partial(self._search, words, settings, owner)
        for place in commands.time or ():
            yield partial(self._time, place)

    async def _search(self, words: SearchWords, settings: SearchSettings, owner: str) -> _Done:
        from .search_client import SearchFailedError  # noqa: PLC0415 — its library costs 0.15 s

        query = words.q.strip()
        if not query:
            return _Done("The query is empty: nothing was searched.")
        if len(words.q) > LONGEST_QUERY:
            raise _FailedError(f"The query was not searched: it is longer than {LONGEST_QUERY} characters.")
        domains, blocked = _filters(settings)
        wanted = _domains(words.domains or ()) or domains
        if self._client is None:
            raise _FailedError(NO_BACKEND)
        try:
            found = await self._client.search(Query(query, self._most_results, words.recency, wanted, blocked), owner)
        except SearchFailedError as error:
            self._count("search", "timeout" if error.timed_out else "failed")
            raise _FailedError(f'The search for "{query}" failed: {error}.') from None
        self._count("search", "found" if found else "nothing")
        found = [each for each in found if allows(each.url, domains, blocked)]
        return _Done(_told(query, found), found)

    async def _time(self, place: TimeCommand) -> _Done:
        offset = _offset(place.utc_offset)
        if offset is None:
            raise _FailedError(f'"{place.utc_offset[:20]}" is no offset such as "+03:00".')
        here = datetime.fromtimestamp(self._now(), UTC).astimezone(timezone(offset))
        return _Done(f"The time at UTC{place.utc_offset} is {here:%A, %Y-%m-%d %H:%M:%S}.")


def _told(query: str, found: list[Found]) -> str:
    """The results of a search as a model reads them."""
    if not found:
        return f'The search for "{query}" found nothing.'
    lines = [f'Results for "{query}":']
    for number, each in enumerate(found, 1):
        lines += [f"{number}. {each.title}", f"   {each.url}", *([f"   {each.snippet}"] if each.snippet else [])]
    return "\n".join(lines)


def answer_body(searched: Searched) -> dict[str, Any]:
    """The answer as Codex reads it. The reference of a result is its address."""
    results = [
        {"type": "text_result", "ref_id": each.url, "url": each.url, "title": each.title, "snippet": each.snippet}
        for each in searched.results
    ]
    return {"output": searched.output, "results": results}


def _filters(settings: SearchSettings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The domains that the client allows, and those that it does not."""
    filters = settings.filters
    if filters is None:
        return (), ()
    return _only_of(filters.allowed_domains or ()), _domains(filters.blocked_domains or ())


def _only_of(names: Sequence[str]) -> tuple[str, ...]:
    """The domains that a client allows: none at all if it names some, but no host."""
    return _domains(names) or ((NOWHERE,) if names else ())


def _domains(names: Iterable[str]) -> tuple[str, ...]:
    """Those that are host names."""
    known = (name.strip().lower() for name in names)
    good = (name for name in known if name and len(name) <= 253 and name.isascii() and _is_name(name))  # noqa: PLR2004 — DNS
    return tuple(dict.fromkeys(good))[:MOST_DOMAINS]


def _is_name(name: str) -> bool:
    return name.replace(".", "").replace("-", "").isalnum()


def _offset(text: str) -> timedelta | None:
    sign, hours, colon, minutes = text[:1], text[1:3], text[3:4], text[4:]
    digits = hours + minutes
    if sign not in {"+", "-"} or colon != ":" or len(text) != len("+00:00"):
        return None
    if not (digits.isascii() and digits.isdecimal()):
        return None
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    if offset >= timedelta(hours=24) or int(minutes) >= 60:  # noqa: PLR2004 — minutes of an hour
        return None
    return offset if sign == "+" else -offset


def _joined(texts: list[str], most: int) -> str:
    """The texts, each cut to its share of so many characters. What one does not need is for those behind it."""
    parts = []
    left = most
    for number, text in enumerate(texts):
        share = max(left // (len(texts) - number), 0)
        part = text if len(text) <= share else f"{text[:share]}\n[cut off]"
        left -= len(part)
        parts.append(part)
    return "\n\n".join(parts)
