"""How connections to an address are made: by name, by TLS, through a proxy; and what is said if that fails."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from app.http_client import http_connecting
from app.http_client.connection_errors import (
    CertificateError,
    ConnectTimeoutError,
    NoAddressError,
    NoConnectionError,
    NotHttpError,
    ProxyConnectionError,
    TlsError,
    UnknownProxyError,
)
from app.http_client.http_connecting import HttpConnector, Peer, proxy_key
from app.http_client.http_connection import HttpConnection
from app.http_client.http_heads import RequestHeads
from app.http_client.http_pool import HttpPool
from app.http_client.keep import KEEP
from app.upstreams.causes import of_connection
from tests.support.certificates import server_context
from tests.support.raw_upstream import END, raw_upstream, read_request

ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
SECONDS: Final = 2


async def asked(url: str, *, proxy: str | None = None, seconds: float = SECONDS) -> bytes:
    """The body that this address answers."""
    connector = HttpConnector(Peer.of(urlsplit(url)), seconds, None if proxy is None else urlsplit(proxy))
    pool = HttpPool(connector, KEEP, 5)
    try:
        answer = await pool.ask(RequestHeads(url, {"x-key": "it"}, proxy).of(None, {}), b"")
        return await answer.read(100)
    finally:
        pool.close()


async def test_a_server_with_tls_is_asked_if_its_certificate_is_trusted(
    folder: Path, trusts: Callable[[Path], None]
) -> None:
    async with raw_upstream(ANSWER, tls=server_context(folder)) as upstream:
        trusts(folder / "cert.pem")
        assert await asked(f"https://localhost:{upstream.port}/it") == b"hello"
        with pytest.raises(CertificateError) as caught:
            await asked(f"https://127.0.0.1:{upstream.port}/it")
        trusts(folder / "none.pem")
        with pytest.raises(CertificateError):
            await asked(f"https://localhost:{upstream.port}/it")
        assert of_connection(caught.value).words.startswith("has no valid certificate: IP address mismatch")
    assert len(upstream.heads) == 1


async def test_no_certificate_names_the_dot_that_may_end_a_host(folder: Path, trusts: Callable[[Path], None]) -> None:
    async def found(_: str, port: int) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    async with raw_upstream(ANSWER, tls=server_context(folder)) as upstream:
        trusts(folder / "cert.pem")
        connector = HttpConnector(Peer("localhost.", upstream.port, is_secure=True), SECONDS, look_up=found)
        loop = asyncio.get_running_loop()
        (await connector.connect(lambda: HttpConnection(loop, 5, lambda *_: None))).abort()


async def test_a_server_without_tls_is_no_secure_one() -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with raw_upstream(play=play) as upstream:
        with pytest.raises(TlsError) as caught:
            await asked(f"https://127.0.0.1:{upstream.port}/it")
    assert not isinstance(caught.value, CertificateError)
    assert of_connection(caught.value).kind == "tls"


async def test_nothing_listens_and_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ConnectTimeoutError) as late:
            await asked(f"https://127.0.0.1:{port}/it", seconds=0.2)
    with pytest.raises(NoConnectionError) as refused:
        await asked(f"http://127.0.0.1:{port}/it")
    assert (refused.value.host, refused.value.port) == ("127.0.0.1", port)
    assert of_connection(refused.value) == ("refused", "refused the connection")
    assert of_connection(late.value) == ("unreachable", "accepted no connection in time")


@pytest.mark.parametrize(
    ("host", "heard"),
    [
        ("[::1]", "[::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("LOCALHOST", "localhost"),
        ("a.example", "a.example"),
    ],
)
async def test_a_name_is_looked_up_as_the_system_knows_it(
    host: str, heard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    system = socket.getaddrinfo

    def getaddrinfo(name: str, port: int, *rest: Any, **more: Any) -> Any:
        names.append(name)
        return system("127.0.0.1", port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    async with raw_upstream(ANSWER) as upstream:
        assert await asked(f"http://{host}:{upstream.port}/it?a=b%20c") == b"hello"
    assert names == [heard.strip("[]")]
    assert upstream.heads == [
        b"GET /it?a=b%%20c HTTP/1.1\r\nhost: %s:%d\r\nx-key: it\r\n\r\n" % (heard.encode(), upstream.port)
    ]


async def test_a_name_without_address_is_told_from_a_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def getaddrinfo(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for host in ("nowhere.example", "a" * 70 + ".example"):
        with pytest.raises(NoAddressError) as caught:
            await asked(f"http://{host}/it")
        assert of_connection(caught.value).kind == "name"


async def test_a_proxy_that_does_not_speak_http_is_not_asked() -> None:
    proxy = urlsplit("socks5://user:secret@127.0.0.1:1080")
    connector = HttpConnector(Peer("a.example", 443, is_secure=True), SECONDS, proxy)
    with pytest.raises(UnknownProxyError) as caught:
        await connector.connect(lambda: HttpConnection(asyncio.get_running_loop(), 5, lambda *_: None))
    words = of_connection(caught.value).words
    assert words.endswith(", which speaks socks5, and only http and https proxies can be used")


async def test_one_look_up_serves_all_who_wait_and_the_next_ones_and_addresses_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first address of a name may be dead: the second is tried soon."""
    looked_up = 0

    def getaddrinfo(_name: str, port: int, *_: Any, **__: Any) -> Any:
        nonlocal looked_up
        looked_up += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.9", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    async with raw_upstream(ANSWER) as upstream:
        connector = HttpConnector(Peer("it.example", upstream.port, is_secure=False), SECONDS)

        def new() -> HttpConnection:
            return HttpConnection(asyncio.get_running_loop(), 5, lambda *_: None)

        first = await asyncio.gather(*(connector.connect(new) for _ in range(5)))
        assert looked_up == 1
        before = [address[-1] for address in connector._addresses]
        again = await connector.connect(new)
        assert ([address[-1] for address in connector._addresses], looked_up) == (before[::-1], 1)
        monkeypatch.setattr(connector, "_known_until", 0)
        another = await connector.connect(new)
        assert looked_up == 2
        for connection in [*first, again, another]:
            connection.abort()


@asynccontextmanager
async def proxy(
    answer: bytes = b"HTTP/1.1 200 Connected\r\n\r\n", *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A proxy on this machine: its port, and the heads that it is sent."""
    heads: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await read_request(reader)
        heads.append(head)
        if not head.startswith(b"CONNECT"):
            writer.write(ANSWER)
            return
        writer.write(answer)
        await writer.drain()
        if b"200" not in answer:
            return
        there = head.split()[1].decode()
        peer_reader, peer_writer = await asyncio.open_connection("127.0.0.1", int(there.rpartition(":")[2]))
        await asyncio.gather(_copied(reader, peer_writer), _copied(peer_reader, writer))

    async with raw_upstream(play=play, tls=tls) as there:
        yield there.port, heads


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("login", ["", "me:p%40ss@"])
async def test_a_proxy_connects_to_the_server(
    scheme: str, login: str, folder: Path, trusts: Callable[[Path], None]
) -> None:
    """With TLS it sees neither the request nor the key; without, it asks by itself."""
    trusts(folder / "cert.pem")
    key = b"proxy-authorization: Basic bWU6cEBzcw==\r\n" if login else b""
    tls = server_context(folder) if scheme == "https" else None
    async with raw_upstream(ANSWER, tls=server_context(folder)) as upstream, proxy(tls=tls) as (port, heads):
        through = f"{scheme}://{login}localhost:{port}"
        assert await asked(f"https://localhost:{upstream.port}/it", proxy=through) == b"hello"
        assert await asked("http://model.example/it", proxy=through) == b"hello"
    assert heads == [
        b"CONNECT localhost:%d HTTP/1.1\r\nhost: localhost:%d\r\n%s\r\n" % (upstream.port, upstream.port, key),
        b"GET http://model.example/it HTTP/1.1\r\nhost: model.example\r\nx-key: it\r\n%s\r\n" % key,
    ]
    assert [head.split(END)[0] for head in upstream.heads] == [
        b"GET /it HTTP/1.1\r\nhost: localhost:%d\r\nx-key: it" % upstream.port
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 407 Who are you\r\n\r\n", NotHttpError),
        (b"nonsense\r\n\r\n", NotHttpError),
        (b"x" * (http_connecting.MOST_OF_A_PROXY + 1), NotHttpError),
        (b"HTTP/1.1 ", ProxyConnectionError),
    ],
    ids=["refuses", "nonsense", "endless", "leaves"],
)
async def test_a_proxy_that_does_not_connect(answer: bytes, expected: type[Exception]) -> None:
    async with proxy(answer) as (port, _):
        with pytest.raises(expected):
            await asked("https://model.example/it", proxy=f"http://127.0.0.1:{port}")


async def test_a_proxy_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ProxyConnectionError) as caught:
        await asked("https://model.example/it", proxy=f"http://127.0.0.1:{port}")
    words = "is asked through a proxy, as the environment says, which refused the connection"
    assert of_connection(caught.value) == ("refused", words)


def test_a_proxy_without_a_name_or_password_gets_no_header() -> None:
    assert proxy_key(urlsplit("http://proxy.example")) is None
