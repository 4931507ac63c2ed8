"""What is left of a request for which nobody waits any more: no connection, no file, no task, and no message."""

import asyncio
import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from app.http_client.connection_errors import LostError, ProxyConnectionError
from app.http_client.http_answer import HttpAnswer
from app.http_client.http_connecting import HttpConnector, Peer
from app.http_client.http_connection import LARGE, HttpConnection
from app.http_client.http_pool import HttpPool
from app.http_client.keep import KEEP
from app.upstreams.http_failures import TROUBLE
from app.upstreams.http_server import HttpServer
from tests.support.certificates import server_context
from tests.support.raw_upstream import raw_upstream

ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
SECONDS: Final = 2


async def test_a_request_that_waits_for_a_connection_ends_with_its_pool() -> None:
    async def never(_host: str, _port: int) -> list[Any]:
        await asyncio.Event().wait()
        return []

    async with raw_upstream(ANSWER) as upstream:
        looked_up = HttpPool(HttpConnector(Peer("name.example", 80, is_secure=False), SECONDS, look_up=never), KEEP, 5)
        connected = HttpPool(HttpConnector(Peer("127.0.0.1", upstream.port, is_secure=False), SECONDS), KEEP, 5)
        for pool in (looked_up, connected):
            asked = asyncio.create_task(pool.ask(b"GET / HTTP/1.1\r\n\r\n", b""))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            pool.close()
            with pytest.raises(LostError):
                await asked
    assert upstream.heads == []


async def test_a_tunnel_that_nobody_waits_for_ends_quietly() -> None:
    told: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))
    async with raw_upstream(b"") as proxy:
        address = urlsplit(f"http://127.0.0.1:{proxy.port}")
        for steps in range(1, 9):
            connector = HttpConnector(Peer("127.0.0.1", 9, is_secure=True), SECONDS, address)
            task = asyncio.create_task(connector.connect(lambda: HttpConnection(loop, 5, lambda *_: None)))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError, ProxyConnectionError):
                await task
            await asyncio.sleep(0.01)
        gc.collect()
    assert told == []


async def test_a_secure_connection_that_nobody_waits_for_is_gone_at_once(
    folder: Path, trusts: Callable[[Path], None]
) -> None:
    """Its file is not another one's while the event loop still has it."""

    async def play(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(1)

    class Left(HttpConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            task.cancel()

    async with raw_upstream(play=play, tls=server_context(folder)) as upstream, raw_upstream(ANSWER) as other:
        trusts(folder / "cert.pem")
        connector = HttpConnector(Peer.of(urlsplit(upstream.url.replace("127.0.0.1", "localhost"))), SECONDS)
        loop = asyncio.get_running_loop()
        lost = asyncio.Event()
        left = Left(loop, 5, lambda *_: lost.set())
        task = asyncio.create_task(connector.connect(lambda: left))
        with pytest.raises(asyncio.CancelledError):
            await task
        pool = HttpPool(HttpConnector(Peer.of(urlsplit(other.url)), SECONDS), KEEP, 5)
        assert (await pool.ask(b"GET / HTTP/1.1\r\n\r\n", b"")).status == 200
        pool.close()
        async with asyncio.timeout(SECONDS):
            await lost.wait()


@pytest.mark.parametrize(
    "pieces", [[ANSWER, b""], [b""], [ANSWER[:-1], b""], [b"HTTP/1.1 200"], [ANSWER[:-1]], [b"SSH-2.0-OpenSSH\r\n"]]
)
async def test_nothing_of_it_waits_for_the_garbage_collector(pieces: list[bytes]) -> None:
    """Which may come late, and a request is large."""
    body = bytes(LARGE)

    async def ask() -> None:
        answer = await server.ask(body)
        try:
            async for _ in answer:
                pass
        finally:
            answer.release(complete=False)

    async with raw_upstream(*pieces) as upstream:
        server = HttpServer(upstream.url, api_key=None, timeout=0.1)
        gc.collect()
        gc.disable()
        try:
            with suppress(*TROUBLE):
                await ask()
            await server.close()
            await asyncio.sleep(0.01)
            left = [each for each in gc.get_objects() if isinstance(each, HttpAnswer | HttpConnection)]
            assert (left, sys.getrefcount(body)) == ([], 2)  # of these functions, and of the count
        finally:
            gc.enable()
