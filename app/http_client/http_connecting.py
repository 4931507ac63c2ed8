"""Makes connections to one address: looks up its name, connects, and secures the connection, through a proxy if needed.

Names are looked up in threads of their own, because asyncio has few and litellm translates requests in them. There is
one look-up at a time for each address, and its result is used for `KNOWN_FOR` seconds.
"""

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from ipaddress import ip_address
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote

from aiohappyeyeballs import start_connection

from ..own_thread import in_own_thread
from .connection_errors import (
    CertificateError,
    ConnectTimeoutError,
    LostError,
    NoAddressError,
    NoConnectionError,
    NotHttpError,
    ProxyConnectionError,
    TlsError,
    UnknownProxyError,
)
from .http_connection import HttpConnection
from .proxies import PROXY_SCHEMES

KNOWN_FOR: Final = 10
"""Seconds for which the addresses of a name are used."""
OTHER_FAMILY: Final = 0.25
"""Seconds after which an address of another kind is tried as well, as browsers do."""
MOST_OF_A_PROXY: Final = 64 * 1024
"""Bytes that a proxy may answer before a connection through it begins."""

Address = tuple[int, int, int, str, Any]
"""As `socket.getaddrinfo` returns it."""
LookUp = Callable[[str, int], Coroutine[Any, Any, list[Address]]]
"""A host and a port -> every address."""


class Peer(NamedTuple):
    """Whom to connect to."""

    host: str
    port: int
    is_secure: bool

    @classmethod
    def of(cls, parts: SplitResult) -> "Peer":
        """The host of this address."""
        is_secure = parts.scheme == "https"
        return cls(ascii_host(parts.hostname or ""), parts.port or _usual_port(is_secure=is_secure), is_secure)

    @property
    def shown_host(self) -> str:
        """The host as it is written in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def certified_host(self) -> str:
        """The host as a certificate names it: without the dot that may end a name."""
        return self.host.removesuffix(".")

    @property
    def authority(self) -> str:
        """The host, with the port if it is not the usual one."""
        usual = self.port == _usual_port(is_secure=self.is_secure)
        return self.shown_host if usual else f"{self.shown_host}:{self.port}"


class HttpConnector:
    """Makes connections to one peer. `proxy`: what is connected to instead."""

    def __init__(
        self,
        peer: Peer,
        seconds: float,
        proxy: SplitResult | None = None,
        *,
        look_up: LookUp | None = None,
        connects: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`seconds`: how long one may take, with look-up and TLS.

        `look_up` finds addresses, of a host that is one as well, and may refuse them. `connects` is told when a
        connection is begun (False), and when it is there.
        """
        self._peer = peer
        self._seconds = seconds
        self._asked_for_addresses = look_up
        self._connects = connects
        self._proxy = None if proxy is None else Peer.of(proxy)
        self._proxy_scheme = "http" if proxy is None else proxy.scheme
        self._proxy_key = None if proxy is None else proxy_key(proxy)
        self._addresses: list[Address] = []
        self._known_until = 0.0
        self._look_up: asyncio.Task[list[Address]] | None = None

    async def connect(self, new: Callable[[], HttpConnection]) -> HttpConnection:
        """A new connection, for which `new` makes the protocol. Raises one of `CONNECTION_ERRORS`."""
        first = self._proxy or self._peer
        if self._proxy_scheme not in PROXY_SCHEMES:
            raise UnknownProxyError(first.host, first.port, self._proxy_scheme)
        self._connects(False)  # noqa: FBT003 — a plain callback
        try:
            async with asyncio.timeout(self._seconds):
                try:
                    made = await self._connected(first, new)
                except ssl.CertificateError as error:
                    raise CertificateError(first.host, first.port) from error
                except ssl.SSLError as error:
                    raise TlsError(first.host, first.port) from error
                except (OSError, UnicodeError) as error:
                    raise self._failure(error)(first.host, first.port) from error
        except TimeoutError:
            raise ConnectTimeoutError from None
        self._connects(True)  # noqa: FBT003 — as above
        return made

    def close(self) -> None:
        """Ends a look-up that still runs. Whoever waits for it gets a `LostError`."""
        if self._look_up is not None:
            self._look_up.cancel()

    async def _connected(self, first: Peer, new: Callable[[], HttpConnection]) -> HttpConnection:
        loop = asyncio.get_running_loop()
        held = await start_connection(
            await self._addresses_of(first), happy_eyeballs_delay=OTHER_FAMILY, interleave=1, loop=loop
        )
        try:
            held.setblocking(False)  # noqa: FBT003 — the system's call
            through = self._proxy is not None and self._peer.is_secure
            secure = first.is_secure
            factory: Callable[[], Any] = _Tunnel if through else new
            transport, protocol = await loop.create_connection(
                factory,
                sock=held,
                ssl=tls_context() if secure else None,
                server_hostname=first.certified_host if secure else None,
            )
        except BaseException:
            with suppress(OSError):  # it is closed already
                held.shutdown(socket.SHUT_RDWR)  # what the event loop has made of it closes it
            raise
        if not through:
            assert isinstance(protocol, HttpConnection)  # noqa: S101 — our own misuse
            return protocol
        return await self._tunnelled(transport, protocol, new())

    async def _tunnelled(self, transport: Any, tunnel: Any, connection: HttpConnection) -> HttpConnection:
        """A secure connection to the peer, inside the one to the proxy."""
        try:
            where = f"{self._peer.shown_host}:{self._peer.port}"
            key = f"proxy-authorization: {self._proxy_key}\r\n" if self._proxy_key else ""
            transport.write(f"CONNECT {where} HTTP/1.1\r\nhost: {where}\r\n{key}\r\n".encode())
            await tunnel.opened
            secured = await asyncio.get_running_loop().start_tls(
                transport, connection, tls_context(), server_hostname=self._peer.certified_host
            )
        except ssl.CertificateError as error:
            transport.abort()
            raise CertificateError(self._peer.host, self._peer.port) from error
        except BaseException:
            transport.abort()
            raise
        assert secured is not None  # noqa: S101 — the loop returns none for a connection that is gone
        connection.connection_made(secured)
        return connection

    async def _addresses_of(self, peer: Peer) -> list[Address]:
        if self._asked_for_addresses is None and _is_literal(peer.host):
            return _looked_up(peer.host, peer.port, socket.AI_NUMERICHOST)
        now = asyncio.get_running_loop().time()
        if self._addresses and now < self._known_until:
            self._addresses = [*self._addresses[1:], self._addresses[0]]
            return self._addresses
        if self._look_up is None:
            look_up = self._asked_for_addresses or _found
            self._look_up = asyncio.get_running_loop().create_task(look_up(peer.host, peer.port))
            self._look_up.add_done_callback(self._known)
        running = self._look_up
        await asyncio.wait([running])  # it runs on for others if this task is cancelled
        if running.cancelled():
            raise LostError
        return running.result()

    def _known(self, look_up: asyncio.Task[list[Address]]) -> None:
        self._look_up = None
        if not look_up.cancelled() and look_up.exception() is None:
            self._addresses = look_up.result()
            self._known_until = asyncio.get_running_loop().time() + KNOWN_FOR

    def _failure(self, error: Exception) -> type[NoConnectionError]:
        if self._proxy is not None:
            return ProxyConnectionError
        return NoAddressError if isinstance(error, socket.gaierror | UnicodeError) else NoConnectionError


class _Tunnel(asyncio.Protocol):
    """Waits until a proxy has connected to the peer."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """A part of the proxy's answer."""
        self._received += data
        if self.opened.done():
            return
        if b"\r\n\r\n" in self._received:
            status = self._received.split(None, 2)[1:2]
            if status and status[0].startswith(b"2"):
                self.opened.set_result(None)
            else:
                self._fail(NotHttpError())
        elif len(self._received) > MOST_OF_A_PROXY:
            self._fail(NotHttpError())

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy refused."""
        if not self.opened.done():
            self._fail(exc or ConnectionResetError())

    def _fail(self, error: Exception) -> None:
        self.opened.set_exception(error)
        self.opened.exception()  # nobody may wait for it any more


@cache
def tls_context() -> ssl.SSLContext:
    """Trusts what the system trusts. It is made when it is first needed, as it takes 20 ms."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def proxy_key(proxy: SplitResult) -> str | None:
    """The value of `proxy-authorization`, if the proxy's address has a name or a password."""
    if not proxy.username and not proxy.password:
        return None
    pair = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def ascii_host(host: str) -> str:
    """The name as it is looked up."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host  # it will have no address


def _usual_port(*, is_secure: bool) -> int:
    return 443 if is_secure else 80


def _is_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


async def _found(host: str, port: int) -> list[Address]:
    # `localhost` also exists on a machine without a network
    flags = 0 if host == "localhost" else socket.AI_ADDRCONFIG
    return await in_own_thread(partial(_looked_up, host, port, flags))


def _looked_up(host: str, port: int, flags: int) -> list[Address]:
    return [
        (int(family), int(kind), proto, name, address)
        for family, kind, proto, name, address in socket.getaddrinfo(
            host, port, socket.AF_UNSPEC, socket.SOCK_STREAM, flags=flags
        )
    ]
