"""A model's server spoken to over HTTP: one POST, an answer read as it comes. Shared by all lanes but litellm's.

Theory of operation
-------------------
There is one pool of connections per server, without a bound: a turn that waits for another turn's connection would be
a turn that waits for another client. A connection goes back to the pool only when its answer was read to the end. So
that the last event need not wait for that end, an answer whose last word was heard is **let go**: what little still
comes is read beside the turn, for a second at most. Any other answer is closed at once, which is what stops the model.

Which connections are used again, and when a request may be sent twice, is said in `connections.py`.

No redirect is followed, for the key would go with it; cookies are not kept; a compressed stream would come in lumps.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from app.protocol.problems import Problem
from app.upstreams.connections import LARGE, Connector, in_pieces, sent
from app.upstreams.faults import OUTAGES, problem_told, wait_told
from app.upstreams.port import KEEP, TRACE, Keep, Outage, UpstreamRefused
from app.upstreams.sse_lines import TooLongError

CONNECT: Final = 5
"""Seconds for finding and reaching a server, TLS included, unless told otherwise."""
LAST_WORDS: Final = 1
"""Seconds that an answer has to end after its last word."""
LONGEST_WHOLE: Final = 64 * 1024 * 1024
"""Bytes of an answer that is not streamed."""
NOT_THERE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
"""How a server says that it has no such address."""
MOST_OF_A_REFUSAL: Final = 64 * 1024
"""Bytes of an error's body that are read."""


class HttpRefusedError(Exception):
    """The server answered with something other than a success."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.text = text
        self.headers = headers


class CompressedError(Exception):
    """The server compressed its answer although we asked it not to."""


LOST: Final = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)
"""What an ask ends with whose connection ended before an answer."""

TROUBLE: Final = (HttpRefusedError, CompressedError, TooLongError, aiohttp.ClientError, OSError)
"""Whatever can go wrong between us and a server. `problem` says what it means."""


class _Pieces:
    """The bytes of a body as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._content.read(LARGE)
        except RuntimeError as error:  # so aiohttp says it where nobody reads while the connection ends
            raise aiohttp.ClientPayloadError from error
        if not piece:
            raise StopAsyncIteration
        if len(piece) == LARGE:
            await asyncio.sleep(0)  # there is more already, and others have waited while this was read
        return piece


class Answer:
    """The body of a success, piece by piece. Whoever has one lets it go."""

    def __init__(self, response: aiohttp.ClientResponse, leaving: set[asyncio.Task[None]]) -> None:
        self._response = response
        self._leaving = leaving

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive."""
        return _Pieces(self._response)

    def let_go(self, *, heard_out: bool) -> None:
        """Done with it. `heard_out`: its last word was heard, and its end is near."""
        if not heard_out or self._response.content.at_eof():
            self._response.close()
            return
        task = asyncio.get_running_loop().create_task(self._hear_out())
        self._leaving.add(task)
        task.add_done_callback(self._left)  # not at the end of the task, which may be cancelled before it began

    async def _hear_out(self) -> None:
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(LAST_WORDS):
                async for _ in self:
                    pass

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        self._response.close()


class HttpServer:
    """One address that is asked. It must be closed, on the loop it was used on."""

    def __init__(
        self, url: str, *, api_key: str | None, timeout: float, connect: float = CONNECT, keep: Keep = KEEP
    ) -> None:
        self._url = url
        self._keep = keep
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect, sock_read=timeout)
        self._proxy = _proxy_for(url)
        self._headers = {
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "am-proxy",
        }
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._session: aiohttp.ClientSession | None = None
        self._leaving: set[asyncio.Task[None]] = set()

    async def ask(self, body: bytes | None, key: str | None = None) -> Answer:
        """Post this, or get if there is none, and give the answer once its head is there. Raises one of `TROUBLE`.

        `key` takes the place of the server's own, for this ask alone.
        """
        response = await sent(lambda: self._send(body, key), lost=LOST)
        try:
            if not 200 <= response.status < 300:  # noqa: PLR2004 — what HTTP calls a success
                raise HttpRefusedError(response.status, await _words(response), response.headers)  # noqa: TRY301 — closed below
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise CompressedError  # noqa: TRY301 — as above
        except BaseException:
            response.close()
            raise
        return Answer(response, self._leaving)

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        for task in list(self._leaving):
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        if session is not None:
            await session.close()

    def problem(self, error: Exception, model: str, secret: str | None) -> Problem:  # noqa: PLR0911 — one line per kind of trouble
        """Say what one of `TROUBLE` means to the client who asked for `model`. `secret` is the key that was sent."""
        match error:
            case HttpRefusedError():
                return problem_told(error.status, error.text, model=model, headers=error.headers, secret=secret)
            case aiohttp.ClientSSLError():
                return _failed("The upstream could not be reached: no secure connection to it can be made.")
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                return _failed("The upstream could not be reached.")
            case TimeoutError():
                return problem_told(408, "", model=model, headers={}, secret=secret)
            case TooLongError():
                return did_not_answer_as_it_must("a line of the stream is too long")
            case CompressedError():
                return did_not_answer_as_it_must("the answer is compressed")
            case aiohttp.ClientResponseError():
                return did_not_answer_as_it_must("the answer is not HTTP")
            case _:
                return _failed("The connection to the upstream broke off.")

    @staticmethod
    def wait(error: Exception) -> float | None:
        """Seconds after which asking again may help, if it may."""
        match error:
            case HttpRefusedError():
                return wait_told(error.status, error.headers, error.text)
            case aiohttp.ClientSSLError():
                return None
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                return 0
            case _:
                return None

    @staticmethod
    def outage(error: Exception) -> Outage | None:
        """Whether the server was not reached, or was silent or is away for now; None if neither."""
        match error:
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                return "unreached"
            case TimeoutError():
                return "unavailable"
            case HttpRefusedError():
                return "unavailable" if error.status in OUTAGES else None
            case _:
                return None

    @classmethod
    def refused(cls, error: Exception, problem: Problem) -> UpstreamRefused:
        """What to raise where one of `TROUBLE` comes before the answer."""
        late = isinstance(error, TimeoutError)
        return UpstreamRefused(problem, wait=cls.wait(error), outage=cls.outage(error), timed_out=late)

    async def _send(self, body: bytes | None, key: str | None) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = self._open()
        headers = dict(TRACE.get({}))
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        if body is not None:
            headers["content-length"] = str(len(body))
        return await self._session.request(
            "GET" if body is None else "POST",
            self._url,
            data=None if body is None else in_pieces(body),
            headers=headers or None,
            allow_redirects=False,
            proxy=self._proxy,
        )

    def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=Connector(self._keep, limit=0),
            timeout=self._timeout,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )


async def json_object(answer: Answer) -> dict[str, Any] | None:
    """An answer that is one JSON object; None if it is anything else."""
    pieces: list[bytes] = []
    held = 0
    ended = False
    try:
        async for piece in answer:
            pieces.append(piece)
            held += len(piece)
            if held > LONGEST_WHOLE:
                return None
        ended = True
    finally:
        answer.let_go(heard_out=ended)
    try:
        told = json.loads(b"".join(pieces))
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def did_not_answer_as_it_must(how: str) -> Problem:
    """The problem of an answer that is not what was asked for."""
    return _failed(f"The upstream did not answer as it must: {how}.")


def _failed(message: str) -> Problem:
    return Problem(code="upstream_error", message=message)


async def _words(response: aiohttp.ClientResponse) -> str:
    """What an error says, as far as it is worth reading."""
    pieces: list[bytes] = []
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout(CONNECT):
            async for piece in _Pieces(response):
                pieces.append(piece)
                if sum(map(len, pieces)) > MOST_OF_A_REFUSAL:
                    break
    return b"".join(pieces).decode("utf-8", "replace")


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; none for this machine's own."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
