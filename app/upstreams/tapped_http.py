"""Model servers that are asked over HTTP and recorded: the body that is posted, and the bytes that come back."""

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from ..lean_aiohttp import aiohttp
from ..recordings.recording import Failure
from .answer_tap import TAP, AnswerTap
from .http_server import TROUBLE, CompressedError, HttpRefusedError, HttpServer, ResponseBody

COUNTING: Final = ("/input_tokens", "/tokenize", "/count_tokens")
"""How addresses end at which tokens are counted: what they answer is not recorded."""

_FAILURES: Final[tuple[tuple[type[Exception], Failure], ...]] = (
    (aiohttp.ClientSSLError, "unreachable_tls"),
    (aiohttp.ClientConnectorError, "unreachable"),
    (aiohttp.ConnectionTimeoutError, "no_connection_in_time"),
    (TimeoutError, "silent"),
    (CompressedError, "compressed"),
    (aiohttp.ClientResponseError, "not_http"),
)
"""The names of errors, in the order in which they are looked for: some are a kind of another one."""


class TappedServer(HttpServer):
    """The same client, which tells the `TAP` of its task what is asked and what comes back."""

    async def ask(
        self, body: bytes | None, key: str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> ResponseBody:
        """As `HttpServer.ask`."""
        start = TAP.get(None)
        if start is None or body is None or self.url.endswith(COUNTING):
            return await super().ask(body, key, headers)
        tap = start(body)
        try:
            answer = await super().ask(body, key, headers)
        except HttpRefusedError as error:
            tap.head(error.status, error.headers)
            tap.piece(self._without_key(error.text, key).encode("utf-8", "surrogatepass"))
            raise
        except TROUBLE as error:
            tap.failed(failure_of(error))
            raise
        except BaseException:
            tap.closed()
            raise
        tap.head(HTTPStatus.OK, {})
        return _TappedBody(answer, tap)

    def _without_key(self, text: str, key: str | None) -> str:
        """What a server says of a refused key, without the key: what the client gets is without it in the same way."""
        secret = key or self._headers.get(self._key_header, "").removeprefix("Bearer ")
        return text.replace(secret, "…") if secret else text


def failure_of(error: Exception) -> Failure:
    """The name of this error of a connection."""
    return next((name for kind, name in _FAILURES if isinstance(error, kind)), "broke_off")


class _TappedBody(ResponseBody):
    """The body of an answer that is recorded."""

    def __init__(self, answer: ResponseBody, tap: AnswerTap) -> None:
        self._answer = answer
        self._tap = tap
        self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive."""
        self._pieces = aiter(self._answer)
        return self

    async def __anext__(self) -> bytes:
        """The next piece. A caller that was cancelled may wait for it once more."""
        try:
            data = await anext(self._pieces)
        except StopAsyncIteration:
            self._ended = True
            raise
        except TROUBLE as error:
            self._ended = True
            self._tap.failed(failure_of(error))
            raise
        self._tap.piece(data)
        return data

    def release(self, *, complete: bool) -> None:
        """Ends reading."""
        if not self._ended:
            self._tap.closed()
        self._answer.release(complete=complete)
