"""The HTTP client for one model server: one POST, and an answer that is read as it arrives. litellm does not use it.

Theory of operation
-------------------
A connection goes back to the pool only when its answer was read to the end. The last event does not
wait for that end: when it was read, a task of its own reads the rest of the answer, for a second at most. Any other
answer is closed at once, which stops the model.

`app/http_client/http_pool.py` describes which connections are used again, and when a request may be sent twice.

Redirects are not followed, because the key would be sent to the new address. Cookies are not kept. Compressed streams
are refused, because they would arrive in large blocks.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from ..http_client.connection_errors import ConnectTimeoutError, NoConnectionError, NotHttpError, TlsError
from ..http_client.http_answer import HttpAnswer
from ..http_client.http_connecting import HttpConnector, Peer, tls_context
from ..http_client.http_heads import RequestHeads
from ..http_client.http_pool import HttpPool
from ..http_client.keep import KEEP, Keep
from ..http_client.proxies import proxy_for
from ..options import KeyHeader
from ..protocol.problems import Problem
from . import causes, faults
from .causes import Cause
from .error_body import body_of, read
from .http_failures import TROUBLE, CompressedError, HttpRefusedError, failure_of
from .port import TRACE, Outage, UpstreamRefused
from .response_body import ResponseBody
from .sse_lines import TooLongError
from .taps import AnswerTap, connects, tapped

CONNECT: Final = 5
"""Seconds to look up and connect to a server, TLS included, if the configuration names no other time."""
OVERLOADED: Final = 529
"""The status of a server of the Messages API that is overloaded. It may also say so in a stream, before any word."""
NOT_THERE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
"""Statuses of servers that do not have this address."""
MOST_ERROR_BYTES: Final = 64 * 1024
"""Bytes of an error body that are read."""


COUNTING: Final = ("/input_tokens", "/tokenize", "/count_tokens")
"""How addresses end at which tokens are counted: nobody follows what they answer."""


class HttpServer:
    """One address of a model server. It must be closed on the event loop on which it was used."""

    def __init__(  # noqa: PLR0913 — each is a setting of the upstream
        self,
        url: str,
        *,
        api_key: str | None,
        timeout: float,
        connect: float = CONNECT,
        keep: Keep = KEEP,
        key_header: KeyHeader = "authorization",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.url = url
        self._keep = keep
        self._silence = timeout
        self._connect = connect
        if url.startswith("https:"):
            tls_context()  # now, as it takes 20 ms in which nothing else runs
        self._proxy = proxy_for(url)
        self._headers = {
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "am-proxy",
            **headers,
        }
        self._key_header = key_header
        if api_key is not None:
            self._headers |= self._with_key(api_key)
        self._heads = RequestHeads(url, self._headers, self._proxy)
        self._pool: HttpPool | None = None
        self._draining: set[asyncio.Task[None]] = set()

    async def ask(
        self, body: bytes | None, key: str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> ResponseBody:
        """POST this body, or GET if there is none; returns with the head of the answer. Raises one of `TROUBLE`.

        `key` replaces the server's own key for this request only; `headers` are added to it.
        """
        taps = [] if body is None or self.url.endswith(COUNTING) else tapped(body)
        try:
            answer = await self._answer(body, key, headers)
        except BaseException as error:
            for tap in taps:
                self._tell(tap, error, key)
            raise
        for tap in taps:
            tap.head(HTTPStatus.OK, {})
        answer.taps = taps
        return answer

    async def _answer(self, body: bytes | None, key: str | None, headers: Mapping[str, str]) -> ResponseBody:
        answer = await self._send(body, key, headers)
        try:
            if not 200 <= answer.status < 300:  # noqa: PLR2004 — what HTTP calls a success
                raise HttpRefusedError(answer.status, await _error_text(answer), answer.headers)  # noqa: TRY301 — closed below
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                raise CompressedError  # noqa: TRY301 — as above
        except BaseException:
            answer.close()
            raise
        return ResponseBody(answer, self._draining)

    async def close(self) -> None:
        """Close every connection."""
        pool, self._pool = self._pool, None
        for task in list(self._draining):
            task.cancel()
        await asyncio.gather(*self._draining, return_exceptions=True)
        if pool is not None:
            pool.close()

    def problem(self, error: Exception, model: str, secret: str | None) -> Problem:  # noqa: PLR0911 — one line per kind of trouble
        """One of `TROUBLE` as a problem for the client that asked for `model`. `secret` is the key that was sent."""
        match error:
            case HttpRefusedError():
                return faults.problem_of_status(
                    error.status, error.text, model=model, headers=error.headers, secret=secret
                )
            case TlsError():
                return faults.INSECURE
            case NoConnectionError() | ConnectTimeoutError():
                return faults.UNREACHABLE
            case TimeoutError():
                return faults.problem_of_status(408, "", model=model, headers={}, secret=secret)
            case TooLongError():
                return faults.invalid_answer("a line of the stream is too long")
            case CompressedError():
                return faults.invalid_answer("the answer is compressed")
            case NotHttpError():
                return faults.NOT_HTTP
            case _:
                return faults.BROKE_OFF

    @staticmethod
    def cause(error: Exception, problem: Problem, secret: str | None) -> Cause:
        """Why a request failed, if one of `TROUBLE` is this problem. `secret` is the key that was sent."""
        match error:
            case HttpRefusedError():
                return causes.of_answer(error.status, faults.short(read(error.text).message, secret), problem)
            case faults.ReportedError():
                return causes.of_report(faults.short(body_of(error.body).message, secret), problem)
            case _:
                return causes.of_connection(error) if problem in faults.UNCONNECTED else causes.of_problem(problem)

    @staticmethod
    def refused(error: Exception, problem: Problem, cause: Cause) -> UpstreamRefused:
        """The exception to raise if one of `TROUBLE` comes before the answer."""
        wait: float | None = None
        outage: Outage | None = None
        match error:
            case HttpRefusedError():
                wait = faults.retry_wait(error.status, error.headers, error.text)
                outage = "unavailable" if error.status in faults.OUTAGES else None
            case faults.ReportedError() if faults.reported_status(error.body) == OVERLOADED:
                wait, outage = 0, "unavailable"
            case NoConnectionError() | ConnectTimeoutError():
                wait = None if isinstance(error, TlsError) else 0
                outage = "unreached"
            case TimeoutError():
                outage = "unavailable"
            case _:
                pass
        return UpstreamRefused(
            problem, wait=wait, outage=outage, timed_out=isinstance(error, TimeoutError), cause=cause
        )

    def _tell(self, tap: AnswerTap, error: BaseException, key: str | None) -> None:
        """Tells a tap why there is no answer. What a server says of a refused key is told without the key."""
        match error:
            case HttpRefusedError():
                secret = key or self._headers.get(self._key_header, "").removeprefix("Bearer ")
                text = error.text.replace(secret, "…") if secret else error.text
                tap.head(error.status, error.headers)
                tap.piece(text.encode("utf-8", "surrogatepass"))
            case Exception() if isinstance(error, TROUBLE):
                tap.failed(failure_of(error))
            case _:
                tap.closed()

    def _with_key(self, key: str) -> dict[str, str]:
        """The header with this key."""
        return {self._key_header: key if self._key_header == "x-api-key" else f"Bearer {key}"}

    async def _send(self, body: bytes | None, key: str | None, more_headers: Mapping[str, str]) -> HttpAnswer:
        if self._pool is None:
            proxy = None if self._proxy is None else urlsplit(self._proxy)
            peer = Peer.of(urlsplit(self.url))
            connector = HttpConnector(peer, self._connect, proxy, connects=connects)
            self._pool = HttpPool(connector, self._keep, self._silence)
        headers = {**TRACE.get({}), **more_headers}
        if key is not None:
            headers |= self._with_key(key)
        return await self._pool.ask(self._heads.of(body, headers), body or b"")


async def _error_text(answer: HttpAnswer) -> str:
    """The body of an error, up to a limit."""
    text = bytearray()
    with suppress(*TROUBLE):
        async with asyncio.timeout(CONNECT):
            async for piece in ResponseBody(answer, set()):
                text += piece
                if len(text) > MOST_ERROR_BYTES:
                    break
    return text.decode("utf-8", "replace")
