"""A model server over HTTP: one POST, and an answer that is read as it arrives.

Redirects are not followed, because the key would be sent to the new address. Cookies are not kept. All clocks are the
turn's, or those of `turns/attempts`.
"""

import asyncio
import time
from collections.abc import Mapping
from io import BytesIO
from types import SimpleNamespace
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from ..dialects.frames import NotAnAnswerError
from ..dialects.record import Counter, Dialect
from ..settings.tables import UpstreamSettings
from ..settings.values import is_loopback
from ..types.json import Json, decode, encode, without
from .errors import Ask, too_slow, words_of
from .model_list import ListedModel, models_of
from .port import AskRecord, Upstream, UpstreamError

_LIST_LASTS = 60
"""Seconds after which a server is asked again for its models."""
_LONGEST_HEAD = 64 * 1024
"""Bytes of a line in the head of an answer."""
_LARGE = 1024 * 1024
_MOST_ERROR_BYTES = 64 * 1024
_MOST_LIST_BYTES = 8 * 1024 * 1024
_LIST_TIME = 1.5
"""Seconds for a list of models: clients wait for it."""
_COUNT_TIME = 30
_PAUSE = 600
_MOST_TOKENS = 2**53
"""Every JSON reader reads a smaller count as a whole number."""
_DRAIN = 0.2
"""Seconds to read an answer to its end after its last payload: then its connection can be used again."""
_NO_HEADERS: Mapping[str, str] = {}
_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
}


def session(base_url: str, connect: float, headers: Mapping[str, str], *, kept: bool = True) -> aiohttp.ClientSession:
    """Connections to a server, each made within `connect` seconds. `kept`: they are used again."""
    return aiohttp.ClientSession(
        proxy=_proxy(base_url),
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30 if kept else None, force_close=not kept),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        max_line_size=_LONGEST_HEAD,
        max_field_size=_LONGEST_HEAD,
        headers={"accept-encoding": "identity", "user-agent": "am-proxy", **headers},
        skip_auto_headers=("accept", "user-agent"),
        trace_configs=[_TRACE],
    )


def with_key(name: str, key: str) -> dict[str, str]:
    """The header of this name with this key; none without a key."""
    return {name: f"Bearer {key}" if name == "authorization" else key} if key else {}


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for this address; aiohttp's own reader of it would take keys of `.netrc`."""
    parts = urlsplit(url)
    if is_loopback(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    proxy = getproxies().get(parts.scheme)
    return f"http://{proxy}" if proxy and "//" not in proxy else proxy


class HttpUpstream(Upstream):
    """A server at an address that speaks one dialect. The key goes nowhere but to it."""

    def __init__(self, settings: UpstreamSettings, dialect: Dialect, most: int) -> None:
        """`most`: bytes of one answer."""
        super().__init__(settings.breaker_failures)
        self.dialect = dialect
        self.most = most
        self._listed: list[ListedModel] = []
        self._listed_until = 0.0
        self._streams_without = False
        """The server has refused `stream_options`, and answered without."""
        self._settings = settings
        self._key = settings.api_key.get_secret_value()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """By whether connections are used again."""
        self._paused: dict[Counter, float] = {}
        """Until when addresses that do not count are not asked: the server may be another one by then."""

    async def open(
        self, body: Json, key: str | None, headers: Mapping[str, str], record: AskRecord | None
    ) -> "HttpAnswer":
        """Ask, and wait for the head of the answer. Raises `UpstreamError`."""
        if self._streams_without:
            body = without(body, "stream_options")
        asked, data = self._asked(body, key, headers), encode(body)
        if record is not None:
            record.body = data
        response = await self._post(url_of(asked.base_url, self.dialect.path), data, asked)
        accepted = 200 <= response.status < 300
        if accepted and response.headers.get("content-encoding", "identity") == "identity":
            return HttpAnswer(response, self, asked, body, record)
        try:
            if accepted:
                raise asked.invalid("the answer is compressed")
            text = await text_of(response, _MOST_ERROR_BYTES)
            if response.status in {400, 422} and "stream_options" in body and "stream_options" in words_of(text):
                answer = await self.open(without(body, "stream_options"), key, headers, record)
                self._streams_without = True  # from now on
                return answer
            if record is not None:
                record.status = response.status
                record.pieces.append((time.monotonic(), text.encode()))
            raise asked.refused(response.status, text, response.headers)
        finally:
            response.close()

    async def count(self, body: Json, key: str | None) -> int | None:
        """The tokens of this body, if the server counts them. Raises `UpstreamError`."""
        asked = self._asked(body, key)
        for counter in [each for each in self.dialect.counters if self._paused.get(each, 0) <= time.monotonic()]:
            base = asked.base_url.removesuffix("/v1") if counter.beside_v1 else asked.base_url
            try:
                told = await self._object(f"{base}{counter.path}", counter.body(body), asked, _COUNT_TIME)
            except UpstreamError:
                if counter.is_sure:
                    raise
                continue
            tokens = (told or {}).get(counter.field)
            if type(tokens) is int and 0 < tokens < _MOST_TOKENS:
                return tokens
            self._paused[counter] = time.monotonic() + _PAUSE
        return None

    async def compact(self, body: Json, key: str | None) -> Json | None:
        """The compaction of the conversation in this body; None if it makes none. Raises `UpstreamError`."""
        if self.dialect.compacted is None:
            return None
        asked, url = self._asked(body, key), f"{self._settings.base_url}{self.dialect.path}/compact"
        return await self._object(url, self.dialect.compacted(body), asked, self._settings.timeout)

    async def close(self) -> None:
        """Close every connection."""
        for each in self._sessions.values():
            await each.close()

    async def models(self, key: str | None) -> list[ListedModel]:
        """The models that it lists. A server that cannot say, or not in time, lists none: that is no error."""
        if key is None and time.monotonic() < self._listed_until:
            return self._listed
        url, headers = url_of(self._settings.base_url or "", self.dialect.models), self._headers(key or self._key, {})
        try:
            async with asyncio.timeout(_LIST_TIME):
                async with self._client().get(url, headers=headers, allow_redirects=False) as response:
                    listed = models_of(await text_of(response, _MOST_LIST_BYTES)) if response.status == 200 else []
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError):
            return []
        if key is None:
            self._listed, self._listed_until = listed, time.monotonic() + _LIST_LASTS
        return listed

    def _client(self, *, kept: bool = True) -> aiohttp.ClientSession:
        if kept not in self._sessions:
            url, connect = self._settings.base_url or "", self._settings.connect_timeout
            self._sessions[kept] = session(url, connect, _HEADERS, kept=kept)
        return self._sessions[kept]

    def _headers(self, secret: str, body: Json) -> dict[str, str]:
        own = self.dialect.headers(body, self._settings.betas) if self.dialect.headers else {}
        return {**own, **with_key(self._settings.key_header, secret)}

    def _asked(self, body: Json, key: str | None, more: Mapping[str, str] = _NO_HEADERS) -> Ask:
        secret, same_api = key or self._key, self.dialect.relays
        headers = {**more, **self._headers(secret, body)}
        return Ask(str(body.get("model")), secret, self._settings.base_url or "", headers, same_api)

    async def _object(self, url: str, body: Json, asked: Ask, seconds: float) -> Json | None:
        try:
            async with asyncio.timeout(seconds), await self._post(url, encode(body), asked) as response:
                text = await text_of(response, _MOST_LIST_BYTES)
        except TimeoutError:
            raise too_slow("did not answer", seconds, asked.base_url) from None
        names_model = asked.model in text and "model" in text.lower()  # it has the path, and not the model
        if response.status in {404, 405, 501} and not names_model:
            return None
        if response.status != 200:
            raise asked.refused(response.status, text, response.headers)
        answer = decode(text)
        if not isinstance(answer, dict):
            raise asked.invalid("the answer is not a JSON object")
        return answer

    async def _post(self, url: str, body: bytes, asked: Ask) -> aiohttp.ClientResponse:
        """The answer, as soon as its head is there. Raises `UpstreamError`."""
        kept = True
        while True:
            used: list[bool] = []
            try:
                return await self._client(kept=kept).post(
                    url, data=_data(body), headers=asked.headers, allow_redirects=False, trace_request_ctx=used
                )
            except (aiohttp.ClientError, OSError, ValueError) as error:
                if not used or not isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
                    raise asked.unreached(error) from None
                kept = False  # the server closed it while it waited to be used again: no byte of an answer came


async def _was_used(_session: aiohttp.ClientSession, asking: SimpleNamespace, _params: object) -> None:
    if asking.trace_request_ctx is not None:
        asking.trace_request_ctx.append(True)


_TRACE = aiohttp.TraceConfig()
"""Tells whether a connection was used before."""
_TRACE.on_connection_reuseconn.append(_was_used)


class HttpAnswer:
    """The answer of a server, payload by payload."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        upstream: HttpUpstream,
        asked: Ask,
        body: Json,
        record: AskRecord | None,
    ) -> None:
        self._response = response
        self._upstream = upstream
        self._dialect = upstream.dialect
        self._frames = upstream.dialect.frames(body)
        self._asked = asked
        self._rest: asyncio.Task[HttpAnswer] | None = None
        """The ask for the rest of an answer that the server paused."""
        self._left = upstream.most
        self._ended = False
        self._failure: UpstreamError | None = None
        """What came behind the last payloads."""
        self._pieces = None if record is None else record.pieces

    async def next(self) -> list[Json] | None:
        """The next payloads, perhaps none yet; None at the end. It may be cancelled, and called again."""
        if self._failure is not None:
            raise self._failure
        if self._rest is not None or self._ended or self._frames.done:
            return await self._go_on()
        try:
            piece = await self._response.content.readany()
        except (aiohttp.ClientError, OSError):
            raise self._asked.broke_off() from None
        self._left -= len(piece)
        if self._left < 0:
            raise self._asked.too_large()
        if self._pieces is not None:
            self._pieces.append((time.monotonic(), piece))
        self._ended = not piece
        try:
            payloads = self._frames.feed(piece) if piece else self._frames.end()
        except NotAnAnswerError as error:
            payloads, self._failure = list(error.before), self._asked.invalid(str(error))
        for index, payload in enumerate(payloads):
            if (said := self._dialect.failure(payload)) is not None:
                payloads, self._failure = payloads[:index], self._asked.reported(said)
                break
        if self._failure is not None and not payloads:
            raise self._failure
        return payloads

    async def _go_on(self) -> list[Json] | None:
        """Asks for the rest of an answer that the server paused, in a task of its own; None if it is whole."""
        if self._rest is None:
            if (body := self._frames.go_on()) is None:
                return None
            self.close()
            self._rest = asyncio.ensure_future(self._upstream.open(body, self._asked.secret, self._asked.headers, None))
        await asyncio.wait((self._rest,))
        self._response, self._rest, self._ended = self._rest.result()._response, None, False
        return []

    def close(self) -> None:
        """No more is read. A complete answer is read to the end of its body, so that its connection is used again."""
        if self._rest is not None:
            self._rest.add_done_callback(_close_late)
            self._rest.cancel()
        if self._response.closed or self._response.connection is None:
            return
        if self._ended or not self._frames.done:
            self._response.close()
        else:
            task = asyncio.ensure_future(_drain(self._response))
            _draining.add(task)
            task.add_done_callback(_draining.discard)


def url_of(base_url: str, path: str) -> str:
    """The address of a path. People write the addresses of Messages servers with or without their version."""
    return f"{base_url.removesuffix('/v1') if path.startswith('/v1/') else base_url}{path}"


def _data(body: bytes) -> BytesIO | bytes:
    """Aiohttp writes a file piece by piece."""
    return BytesIO(body) if len(body) > _LARGE else body


def _close_late(asking: "asyncio.Task[HttpAnswer]") -> None:
    if not asking.cancelled() and asking.exception() is None:
        asking.result().close()


_draining: set["asyncio.Task[None]"] = set()


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(_DRAIN):
            while await response.content.readany():
                pass
    except (TimeoutError, aiohttp.ClientError, OSError, RuntimeError):  # the last one where it is closed meanwhile
        pass
    finally:
        response.close()  # nothing happens to the connection where all was read


async def text_of(response: aiohttp.ClientResponse, most: int) -> str:
    """The first bytes of a body."""
    text = bytearray()
    try:
        async with asyncio.timeout(5):
            while len(text) < most and (piece := await response.content.readany()):
                text += piece
    except (TimeoutError, aiohttp.ClientError, OSError):
        pass
    return bytes(text[:most]).decode("utf-8", "replace")
