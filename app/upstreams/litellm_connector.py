"""litellm's connections: aiohttp's pool with the rules of `http_client/http_pool.py`."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from ..http_client.http_connection import LARGE
from ..http_client.http_pool import ServerHabits
from ..http_client.keep import Keep
from ..http_client.socket_state import is_quiet
from ..own_thread import in_own_thread
from .litellm_connection import AnswerConnection
from .taps import connects

ResultT = TypeVar("ResultT")


class _BodyPieces:
    """A large body, piece by piece, without copies: aiohttp would copy an `io.BytesIO` at once."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[memoryview]:
        view = memoryview(self._body)
        for start in range(0, len(view), LARGE):
            yield view[start : start + LARGE]
            await asyncio.sleep(0)


def in_pieces(body: bytes) -> bytes | _BodyPieces:
    """The body as it is passed to aiohttp, together with a `content-length` header."""
    return _BodyPieces(body) if len(body) > LARGE else body


class _Use:
    """The connection of a request, if it was used before."""

    def __init__(self) -> None:
        self.reused: AnswerConnection | None = None
        self.server: ServerHabits | None = None

    def begin(self) -> None:
        """A request is about to be sent."""
        self.reused = self.server = None

    def may_send_again(self) -> bool:
        """The request was lost: whether the server cannot have read it."""
        if self.server is not None:
            self.server.has_closed()
        return self.reused is not None and self.reused.unread


_use: Final[ContextVar[_Use | None]] = ContextVar("am_proxy_connection_use", default=None)


async def sent(send: Callable[[], Awaitable[ResultT]], lost: tuple[type[BaseException], ...]) -> ResultT:
    """What `send` returns. It is called again if its connection was a reused one and the server read none of it.

    `lost`: what `send` raises if its connection ended.
    """
    use = _Use()
    token = _use.set(use)
    try:
        while True:
            use.begin()
            try:
                return await send()
            except lost:
                if not use.may_send_again():
                    raise
    finally:
        _use.reset(token)


class _OwnThreads(AbstractResolver):
    """Looks up names in threads of their own: asyncio has few, and litellm translates requests in them.

    There are at most as many look-ups at once as servers: aiohttp shares one for the same name.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Every address of the host."""
        addresses = await in_own_thread(partial(_addresses, host, port, family))
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=proto, flags=socket.AI_NUMERICHOST)
            for kind, proto, address in addresses
        ]

    async def close(self) -> None:
        """There is nothing to close."""


def _addresses(host: str, port: int, family: socket.AddressFamily) -> list[tuple[int, int, str]]:
    """Family, protocol and text of each address of this host."""
    flags = 0 if host == "localhost" else socket.AI_ADDRCONFIG  # `localhost` also exists on a machine without a network
    entries = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=flags)
    return [
        (kind, proto, socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0])
        for kind, _, proto, _, address in entries
    ]


class Connector(aiohttp.TCPConnector):
    """aiohttp's connection pool, with the rules above."""

    def __init__(self, keep: Keep, **settings: Any) -> None:
        super().__init__(**{"resolver": _OwnThreads(), **settings, "keepalive_timeout": keep.seconds})
        self._keep = keep
        self._factory: Any = partial(AnswerConnection, loop=self._loop)
        self._servers: dict[Any, ServerHabits] = {}
        """By host, port and the like: no more than are configured."""

    def follow(self, keep: Keep) -> None:
        """Applies a new limit for idle connections."""
        self._keep, self._keepalive_timeout = keep, keep.seconds

    async def _get(self, key: Any, traces: Any) -> Any:
        idle = self._conns.get(key)
        while idle and not _is_quiet(idle[0][0]):
            idle.popleft()[0].close()
        connection = await super()._get(key, traces)
        use = _use.get()
        if use is not None and connection is not None and isinstance(connection.protocol, AnswerConnection):
            connection.protocol.reuse()
            use.reused, use.server = connection.protocol, self._server(key)
        return connection

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 — aiohttp's method
        connects(False)  # noqa: FBT003 — as the HTTP client does
        connection = await super()._create_connection(req, traces, timeout)
        connects(True)  # noqa: FBT003 — as above
        return connection

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        server = self._server(key)
        if server.keeps_none:
            should_close = True
        if self._closed or should_close or protocol.should_close:
            super()._release(key, protocol, should_close=should_close)
        else:
            self._loop.call_later(server.settle, self._settle, key, protocol)

    def _settle(self, key: Any, protocol: Any) -> None:
        """Puts a connection into the pool if it has stayed open."""
        if self._closed:
            return
        server = self._server(key)
        quiet = _is_quiet(protocol)
        if quiet:
            server.left_open += 1
        else:
            server.has_closed()
        super()._release(key, protocol, should_close=not quiet)
        idle = self._conns.get(key)
        while idle and len(idle) > self._keep.connections:
            idle.popleft()[0].close()

    def _server(self, key: Any) -> ServerHabits:
        return self._servers.setdefault(key, ServerHabits(self._loop.time))


def _is_quiet(protocol: ResponseHandler) -> bool:
    """Whether this idle connection is open and has nothing to read."""
    return protocol.is_connected() and is_quiet(protocol.transport)
