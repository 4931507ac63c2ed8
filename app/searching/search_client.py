"""Asks the server that searches. Its address is a setting, so it may be a private one; its answer is not trusted."""

import asyncio
from contextlib import AsyncExitStack, closing
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from ..fair_slots import FairSlots
from ..http_client.connection_errors import CONNECTION_ERRORS
from ..http_client.http_connecting import HttpConnector, Peer
from ..http_client.http_heads import RequestHeads
from ..http_client.http_pool import HttpPool
from ..http_client.keep import KEEP
from ..http_client.proxies import proxy_for
from ..json_text import holds_more_values
from ..off_loop import off_loop
from .backends import Backend, Found, Query, SearchAsk, SearchPlace, read_results

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of an answer."""
MOST_VALUES: Final = 100_000
"""JSON values in an answer."""
AT_ONCE: Final = 16
"""Searches at the same time, for all callers."""
WAITS: Final = 3
"""The longest wait for a slot, as a multiple of the time limit of a search."""
_OK: Final = 200
_PIECE: Final = 64 * 1024
"""Bytes that are read at once."""


class SearchFailedError(Exception):
    """A search failed; the text says why, as far as a client may know."""

    timed_out = False


class SearchTimeoutError(SearchFailedError):
    """A search took too long."""

    timed_out = True


class SearchClient:
    """The connection to the server that searches. It must be closed on the event loop on which it was used."""

    def __init__(self, backend: Backend, place: SearchPlace, timeout: float) -> None:
        self._backend = backend
        self._place = place._replace(base_url=place.base_url or backend.base_url)
        self._timeout = timeout
        self._slots = FairSlots(AT_ONCE)
        self._pool: HttpPool | None = None

    async def search(self, query: Query, owner: str) -> list[Found]:
        """The results of this query. Raises `SearchFailedError`. `owner` is the caller."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(WAITS * self._timeout):
                    await stack.enter_async_context(self._slots.of(owner))
                async with asyncio.timeout(self._timeout):
                    answer = await self._answer(self._backend.ask(query, self._place, _today()))
        except TimeoutError:
            raise SearchTimeoutError("the search server took too long") from None
        except (*CONNECTION_ERRORS, ValueError):
            raise SearchFailedError("the search server could not be reached") from None
        found = await off_loop(len(answer), _results, answer, self._backend.results_path, query)
        if found is None:
            raise SearchFailedError("the answer of the search server has no list of results")
        return found

    async def close(self) -> None:
        """Close every connection."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    async def _answer(self, ask: SearchAsk) -> bytes:
        proxy = proxy_for(ask.url)
        if self._pool is None:
            through = None if proxy is None else urlsplit(proxy)
            connector = HttpConnector(Peer.of(urlsplit(ask.url)), self._timeout, through)
            self._pool = HttpPool(connector, KEEP, self._timeout)
        headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "am-proxy", **ask.headers}
        head = RequestHeads(ask.url, headers, proxy).of(ask.body, {})
        pieces: list[bytes] = []
        size = 0
        # a redirect is not followed: the key would be sent to the new address
        with closing(await self._pool.ask(head, ask.body or b"")) as answer:
            if answer.status != _OK:
                raise SearchFailedError(f"the search server answered with the status {answer.status}")
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise SearchFailedError("the search server compressed its answer")
            while piece := await answer.read(_PIECE):
                size += len(piece)
                if size > LARGEST:
                    raise SearchFailedError("the answer of the search server is too long")
                pieces.append(piece)
        return b"".join(pieces)


def _today() -> date:
    return datetime.now(UTC).date()


def _results(answer: bytes, path: str, query: Query) -> list[Found] | None:
    if holds_more_values(answer, MOST_VALUES):
        return None
    try:
        data: Any = msgspec.json.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return read_results(data, path, query)
