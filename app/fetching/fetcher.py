"""Fetches what lies at a client's address, and trusts nothing of it.

Theory of operation
-------------------
An address a client gives may be a way into the network this server stands in. So:

- only http and https, without user information, and no private host in any spelling (`fetching/url_policy.py`);
- a name is looked up here, every address of it is checked, and the connection goes to one of these (`addresses.py`);
- a redirect is another address: it is checked the same way, and there are three at most;
- no proxy, no cookies, no key, nothing compressed;
- each within a time, all within a size, which all addresses of a request share;
- slow addresses of one caller take no more than that caller's share of the slots (`app/fair_slots.py`), and slow names
  no more than its share of the threads that look them up (`addresses.py`);
- what it is, its bytes say. A picture is a picture, a file is a PDF, a picture or text, and nothing else is passed on.

What goes wrong on the way is told by one sentence for all reasons: which names exist and which ports are open is
nobody's to learn here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal, NamedTuple
from urllib.parse import urljoin

import aiohttp

from app.fair_slots import FairSlots
from app.fetching.addresses import CheckedAddresses, LookUp, LookUps
from app.fetching.media_types import is_text, sniffed
from app.fetching.url_policy import check_url, is_public
from app.off_loop import off_loop
from app.protocol.problems import Problem, ProblemError, refuse

MOST_REDIRECTS: Final = 3
AT_ONCE: Final = 32
"""Fetches of all requests together: they need no more of this server than a few connections."""
WAITS: Final = 3
"""How many times as long as one fetch may take a fetch may wait for its slot."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TEXTS: Final = frozenset(
    {"application/json", "application/xml", "text/css", "text/csv", "text/html", "text/markdown", "text/xml"}
)
"""Kinds of text that are believed where the bytes are text; any other text is plain."""

BUSY: Final = Problem(
    code="rate_limit_exceeded",
    message="Too many addresses are being fetched for this caller. Send the data, or try again in 5s.",
    retry_after=5,
)
"""What a request comes to whose addresses had to wait too long for those of others."""

Wanted = Literal["image", "file"]


class Fetched(NamedTuple):
    """What was found: its kind, and itself."""

    kind: str
    data: bytes


class Budget:
    """The bytes that a request may still fetch, counted at each place where they are sent."""

    def __init__(self, size: int) -> None:
        self.left = size


class _CannotFetchError(Exception):
    """Something went wrong on the way."""


class Fetcher:
    """Whoever has one closes it, on the loop it was used on."""

    def __init__(
        self,
        *,
        timeout: float,
        allow_private: bool = False,
        look_up: LookUp | None = None,
        is_public: Callable[[str], bool] = is_public,
    ) -> None:
        self._timeout = timeout
        self._allow_private = allow_private
        self._look_up = look_up or LookUps()
        self._is_public = (lambda _: True) if allow_private else is_public
        self._session: aiohttp.ClientSession | None = None
        self._slots = FairSlots(AT_ONCE)

    async def fetch(
        self, url: str, path: str, wanted: Wanted, budget: Budget, owner: str = "", *, times: int = 1
    ) -> Fetched:
        """What lies there. Raises `ProblemError` by the path of the address, whatever goes wrong.

        `owner` is whose share of the slots it takes. To wait for one takes none of the time for fetching. The file
        is sent at so many places (`times`).
        """
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(WAITS * self._timeout):
                    await stack.enter_async_context(self._slots.of(owner))
                data, told = await self._fetch(url, path, budget, times)
        except TimeoutError:
            raise ProblemError(BUSY) from None
        kind = await off_loop(len(data), _kind, data, told)
        if kind is None or (wanted == "image" and not kind.startswith("image/")):
            what = "an image (PNG, JPEG, GIF or WebP)" if wanted == "image" else "a PDF, an image or a text"
            raise _refuse(path, f"what lies there is not {what}")
        return Fetched(kind, data)

    async def _fetch(self, url: str, path: str, budget: Budget, times: int) -> tuple[bytes, str]:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._get(url, path, budget, times)
        except (_CannotFetchError, aiohttp.ClientError, OSError, ValueError):  # a TimeoutError is an OSError
            raise _refuse(path, "it could not be fetched") from None

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _get(self, url: str, path: str, budget: Budget, times: int) -> tuple[bytes, str]:
        for _ in range(MOST_REDIRECTS + 1):
            check_url(url, path, allow_private=self._allow_private)
            async with self._ask(url) as response:
                if response.status in _REDIRECTS:
                    url = urljoin(url, response.headers.get("location", ""))
                    continue
                if response.status != 200 or response.headers.get("content-encoding", "identity") != "identity":  # noqa: PLR2004 — what HTTP calls OK
                    raise _CannotFetchError
                return await _read(response, path, budget, times), response.content_type
        raise _CannotFetchError

    @asynccontextmanager
    async def _ask(self, url: str) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = self._open()
        response = await self._session.get(url, allow_redirects=False)
        try:
            yield response
        finally:
            response.close()

    def _open(self) -> aiohttp.ClientSession:
        resolver = CheckedAddresses(self._is_public, self._look_up)
        return aiohttp.ClientSession(
            # a connection that is kept, or a name that is remembered, would be one that was checked for somebody else
            connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True, limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "accept": "image/*, application/pdf, text/*",
                "accept-encoding": "identity",
                "user-agent": "am-proxy",
            },
            auto_decompress=False,
            trust_env=False,
        )


async def _read(response: aiohttp.ClientResponse, path: str, budget: Budget, times: int) -> bytes:
    pieces: list[bytes] = []
    if (response.content_length or 0) * times > budget.left:
        raise _too_large(path, times)
    async for piece in response.content.iter_any():
        budget.left -= len(piece) * times
        if budget.left < 0:
            raise _too_large(path, times)
        pieces.append(piece)
    return b"".join(pieces)


def _kind(data: bytes, told: str) -> str | None:
    kind = sniffed(data)
    if kind is None and is_text(data):
        return told if told in _TEXTS else "text/plain"
    return kind


def _too_large(path: str, times: int) -> ProblemError:
    return _refuse(path, "what lies there is too large" + (f" to be sent {times} times" if times > 1 else ""))


def _refuse(path: str, why: str) -> ProblemError:
    return refuse("invalid_value", f"Invalid URL in '{path}': {why}.", path)
