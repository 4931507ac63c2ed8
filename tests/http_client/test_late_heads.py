"""How long the head of an answer may take."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from app.upstreams.http_server import HttpServer
from tests.support.raw_upstream import raw_upstream

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def asking(play: Play, silence: float) -> AsyncIterator[HttpServer]:
    """The client of an upstream that answers so, and may be silent for so many seconds."""
    async with raw_upstream(play=play) as upstream:
        server = HttpServer(upstream.url, api_key="sk-it", timeout=silence)
        try:
            yield server
        finally:
            await server.close()


async def test_a_late_head_leaves_time_for_the_body() -> None:
    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in (b"HTTP/1.1 103 Early Hints\r\n\r\n", HEAD, b"hello"):
            await asyncio.sleep(0.8)
            writer.write(piece)

    async with asking(play, silence=1.5) as server:
        answer = await server.ask(b"{}")
        assert b"".join([piece async for piece in answer]) == b"hello"
        answer.release(complete=answer.has_ended)


async def test_a_head_in_small_pieces_is_not_waited_for_longer() -> None:
    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in HEAD * 100:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)

    async with asking(play, silence=0.4) as server:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await server.ask(b"{}")
        assert 0.3 < time.monotonic() - began < 1.8  # the whole head would take two seconds
