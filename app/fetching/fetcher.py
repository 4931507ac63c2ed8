"""Fetches a URL that a client gave, without trust in the URL or in what it returns.

Theory of operation
-------------------
A URL from a client may lead into the private network of this server. Therefore:

- only http and https, without user information, and no private host in any spelling (`fetching/url_policy.py`);
- the name is looked up here, all of its addresses are checked, and the connection goes to one of them (`addresses.py`);
- a redirect is checked in the same way, and at most three are followed;
- no proxy, no cookies, no key and no compression are used;
- each fetch has a time limit, and all fetches of a request share a size limit;
- slow URLs of one caller use no more than its share of the slots (`app/fair_slots.py`), and slow names no more than its
  share of the look-up threads (`addresses.py`);
- the type of the data is read from its bytes: only images, PDFs and text are passed on.

All errors have the same message, so that a caller cannot find out which names exist and which ports are open.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final, Literal, NamedTuple
from urllib.parse import urljoin

from ..fair_slots import FairSlots
from ..http_client.connection_errors import CONNECTION_ERRORS
from ..http_client.http_answer import HttpAnswer
from ..http_client.one_request import one_get
from ..off_loop import off_loop
from ..protocol.problems import Problem, ProblemError
from .addresses import CheckedAddresses, LookUp, LookUps
from .media_types import is_text, sniffed
from .url_policy import check_url, is_public, refuse_url

MOST_REDIRECTS: Final = 3
AT_ONCE: Final = 32
"""Fetches at the same time, for all requests."""
WAITS: Final = 3
"""The longest wait for a slot, as a multiple of the time limit of a fetch."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TEXTS: Final = frozenset(
    {"application/json", "application/xml", "text/css", "text/csv", "text/html", "text/markdown", "text/xml"}
)
"""Declared types that are kept if the bytes are text; other text is `text/plain`."""

_HEADERS: Final = {
    "accept": "image/*, application/pdf, text/*",
    "accept-encoding": "identity",
    "user-agent": "am-proxy",
}
_PIECE: Final = 64 * 1024
"""Bytes that are read at once."""
BUSY: Final = Problem(
    code="rate_limit_exceeded",
    message="Too many addresses are being fetched for this caller. Send the data, or try again in 5s.",
    retry_after=5,
)
"""The problem of a request whose fetches waited too long for a slot."""

Wanted = Literal["image", "file"]


class Fetched(NamedTuple):
    """The media type and the data of a fetched file."""

    kind: str
    data: bytes
    url: str = ""
    """Its address, behind all redirects."""


class Budget:
    """The bytes that a request may still fetch. A file counts at each place where it is used."""

    def __init__(self, size: int) -> None:
        self.left = size


class _CannotFetchError(Exception):
    """A fetch failed."""


class Fetcher:
    """Fetches URLs."""

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
        self._addresses = CheckedAddresses((lambda _: True) if allow_private else is_public, look_up or LookUps())
        self._slots = FairSlots(AT_ONCE)

    async def fetch(
        self, url: str, path: str, wanted: Wanted, budget: Budget, owner: str = "", *, times: int = 1
    ) -> Fetched:
        """The data at this URL. Raises `ProblemError` with the path of the URL if anything fails.

        `owner` is the caller whose share of the slots is used. Waiting for a slot does not count as fetching time.
        `times` is the number of places where the file is used.
        """
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(WAITS * self._timeout):
                    await stack.enter_async_context(self._slots.of(owner))
                data, declared, url = await self._fetch(url, path, budget, times)
        except TimeoutError:
            raise ProblemError(BUSY) from None
        kind = await off_loop(len(data), _kind, data, declared)
        if kind is None or (wanted == "image" and not kind.startswith("image/")):
            what = "an image (PNG, JPEG, GIF or WebP)" if wanted == "image" else "a PDF, an image or a text"
            raise refuse_url(path, f"its data is not {what}")
        return Fetched(kind, data, url)

    async def _fetch(self, url: str, path: str, budget: Budget, times: int) -> tuple[bytes, str, str]:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._get(url, path, budget, times)
        except (_CannotFetchError, *CONNECTION_ERRORS, ValueError):  # a TimeoutError is an OSError
            raise refuse_url(path, "it could not be fetched") from None

    async def _get(self, url: str, path: str, budget: Budget, times: int) -> tuple[bytes, str, str]:
        for _ in range(MOST_REDIRECTS + 1):
            check_url(url, path, allow_private=self._allow_private)
            # a kept connection or a remembered name would be one that was checked for another caller
            async with one_get(url, _HEADERS, self._timeout, self._addresses) as answer:
                if answer.status in _REDIRECTS:
                    url = urljoin(url, answer.headers.get("location", ""))
                    continue
                if answer.status != 200 or answer.headers.get("content-encoding", "identity") != "identity":  # noqa: PLR2004 — what HTTP calls OK
                    raise _CannotFetchError
                declared = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
                return await _read(answer, path, budget, times), declared, url
        raise _CannotFetchError


async def _read(answer: HttpAnswer, path: str, budget: Budget, times: int) -> bytes:
    pieces: list[bytes] = []
    if int(answer.headers.get("content-length") or 0) * times > budget.left:
        raise _too_large(path, times)
    while piece := await answer.read(_PIECE):
        budget.left -= len(piece) * times
        if budget.left < 0:
            raise _too_large(path, times)
        pieces.append(piece)
    return b"".join(pieces)


def _kind(data: bytes, declared: str) -> str | None:
    kind = sniffed(data)
    if kind is None and is_text(data):
        return declared if declared in _TEXTS else "text/plain"
    return kind


def _too_large(path: str, times: int) -> ProblemError:
    return refuse_url(path, "its data is too large" + (f" to be sent {times} times" if times > 1 else ""))
