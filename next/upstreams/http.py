"""A model server over HTTP: one POST, and an answer that is read as it arrives.

Redirects are not followed, because the key would be sent to the new address. Cookies are not kept. All clocks are the
turn's, or those of `turns/attempts`.
"""

import asyncio
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import aiohttp

from ..dialects.record import Dialect, Frames, NotAnAnswerError
from ..settings.tables import UpstreamSettings
from ..types.json import encode
from ..types.problems import Problem
from . import errors
from .port import Broken, Refused

Json = dict[str, Any]

_LARGE: Final = 1024 * 1024
_MOST_ERROR_BYTES: Final = 64 * 1024
_TOO_LONG: Final = Problem(
    code="upstream_error", message="The model's server sent more than one answer may contain (`max_answer_bytes`)."
)
_DRAIN: Final = 0.2
"""Seconds to read an answer to its end after its last payload: then its connection can be used again."""
_HEADERS: Final = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
    "user-agent": "am-proxy",
}


class HttpUpstream:
    """A server at an address that speaks one dialect. The key goes nowhere but to it."""

    def __init__(self, settings: UpstreamSettings, dialect: Dialect, most: int) -> None:
        """`most`: bytes of one answer."""
        self.most = most
        self._base_url = settings.base_url or ""
        self._url = f"{self._base_url}{dialect.path}"
        self.dialect = dialect
        self._key = settings.api_key.get_secret_value() if settings.api_key else ""
        self._key_header = settings.key_header
        self._connect = settings.connect_timeout
        self._session: aiohttp.ClientSession | None = None

    async def open(self, body: Json, key: str | None) -> "HttpAnswer":
        """Ask, and wait for the head of the answer. Raises `Refused`."""
        secret = key or self._key
        try:
            response = await self._post(encode(body), secret)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise errors.unreached(error, self._base_url) from None
        if response.status == 200 and response.headers.get("content-encoding", "identity") == "identity":
            return HttpAnswer(self, response, self.dialect.frames(), str(body.get("model")), secret)
        try:
            if response.status == 200:
                raise Refused(errors.invalid_answer("the answer is compressed"))
            text = await _text(response)
        finally:
            response.close()
        model, headers = str(body.get("model")), _lower(response.headers)
        raise errors.refused(response.status, text, headers, model=model, secret=secret, where=self._base_url)

    def reported(self, error: Any, model: str, secret: str) -> Refused:
        """The refusal that an error in an answer is."""
        return errors.reported(error, model=model, secret=secret, where=self._base_url)

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def _post(self, body: bytes, secret: str) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect, sock_read=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                headers=_HEADERS,
                skip_auto_headers=("accept", "user-agent"),
            )
        headers = {}
        if secret:
            headers[self._key_header] = f"Bearer {secret}" if self._key_header == "authorization" else secret
        large = len(body) > _LARGE  # aiohttp writes it piece by piece then
        try:
            data = BytesIO(body) if large else body
            return await self._session.post(self._url, data=data, headers=headers, allow_redirects=False)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                raise
            # a connection that the server closed while it waited to be used again: no byte of an answer came
            data = BytesIO(body) if large else body
            return await self._session.post(self._url, data=data, headers=headers, allow_redirects=False)


class HttpAnswer:
    """The answer of a server, payload by payload."""

    def __init__(
        self, upstream: HttpUpstream, response: aiohttp.ClientResponse, frames: Frames, model: str, secret: str
    ) -> None:
        self._upstream = upstream
        self._response = response
        self._frames = frames
        self._model = model
        self._secret = secret
        self._ended = False
        self._begun = False
        """Whether a payload was given out."""
        self._failed: Refused | None = None
        """The error that came behind the last payloads."""
        self._size = 0
        self.pieces: list[bytes] | None = None
        """What was read, for the record, if there is one."""

    async def next(self) -> list[Json] | None:
        """The next payloads, perhaps none yet; None at the end. It may be cancelled, and called again."""
        if self._failed is not None:
            raise Broken(self._failed.problem, cause=self._failed.cause)
        if self._ended or self._frames.done:
            return None
        try:
            piece = await self._response.content.readany()
        except (aiohttp.ClientError, OSError):
            raise self._broke(errors.BROKE_OFF, "the connection broke off") from None
        try:
            if piece:
                self._size += len(piece)
                if self._size > self._upstream.most:
                    raise self._broke(_TOO_LONG, _TOO_LONG.message)
                if self.pieces is not None:
                    self.pieces.append(piece)
                payloads = self._frames.feed(piece)
            else:
                self._ended = True
                payloads = self._frames.end()
        except NotAnAnswerError as error:
            self._failed = Refused(errors.invalid_answer(str(error)), cause=str(error))
            payloads = list(error.before)
            if not payloads:
                raise self._broke(self._failed.problem, self._failed.cause) from None
        for index, payload in enumerate(payloads):
            if (said := self._upstream.dialect.failure(payload)) is None:
                continue
            refusal = self._upstream.reported(said, self._model, self._secret)
            if index == 0:
                raise Broken(refusal.problem, cause=refusal.cause) if self._begun else refusal
            self._failed = refusal
            payloads = payloads[:index]
            break
        self._begun = self._begun or bool(payloads)
        return payloads if payloads or not self._ended else None

    def close(self) -> None:
        """No more is read. A complete answer is read to the end of its body, so that its connection is used again."""
        if self._response.closed or self._response.connection is None:
            return
        if self._ended or not self._frames.done:
            self._response.close()
        else:
            task = asyncio.ensure_future(_drain(self._response))
            _draining.add(task)
            task.add_done_callback(_draining.discard)

    def _broke(self, problem: Problem, cause: str) -> Exception:
        return Broken(problem, cause=cause) if self._begun else Refused(problem, cause=cause)


_draining: Final[set["asyncio.Task[None]"]] = set()


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(_DRAIN):
            while await response.content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError):
        response.close()


async def _text(response: aiohttp.ClientResponse) -> str:
    """The body of an error, up to a limit."""
    text = bytearray()
    try:
        async with asyncio.timeout(5):
            while len(text) < _MOST_ERROR_BYTES and (piece := await response.content.readany()):
                text += piece
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass
    return bytes(text[:_MOST_ERROR_BYTES]).decode("utf-8", "replace")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
