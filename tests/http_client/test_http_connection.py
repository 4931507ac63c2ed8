"""The HTTP client of all lanes but litellm's: what it makes of every kind of answer, and what it refuses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http_client import http_pool
from app.http_client.connection_errors import LostError, NotHttpError
from app.http_client.http_answer import MOST_HELD, HttpAnswer
from app.http_client.http_connection import LARGE, MOST_HEAD, HttpConnection
from app.upstreams.http_failures import CompressedError, HttpRefusedError
from app.upstreams.http_server import MOST_ERROR_BYTES, HttpServer, _error_text
from tests.support.raw_upstream import RawUpstream, raw_upstream, read_request

LENGTH: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def asking(upstream: RawUpstream, **settings: Any) -> AsyncIterator[HttpServer]:
    server = HttpServer(upstream.url, **{"api_key": "sk-it", "timeout": 5, **settings})
    try:
        yield server
    finally:
        await server.close()


async def body_of(server: HttpServer, body: bytes | None = b"{}") -> bytes:
    answer = await server.ask(body)
    try:
        return b"".join([piece async for piece in answer])
    finally:
        answer.release(complete=answer.has_ended)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([LENGTH + b"hello"], b"hello"),
        ([LENGTH[:9], LENGTH[9:], b"he", b"llo"], b"hello"),
        ([CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"], b"hello"),
        ([CHUNKED, b"2\r", b"\nhe", b"\r\n3;x=1\r\nllo\r\n0\r\nTrailer: 1\r\n", b"\r\n"], b"hello"),
        ([b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo", b""], b"hello"),
        ([b"HTTP/1.0 200 OK\r\n\r\nhello", b""], b"hello"),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\nhello", b""], b"hello"),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, identity\r\n\r\nhello", b""], b"hello"),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n" + CHUNKED[17:] + b"5\r\nhello\r\n", b""], LostError),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], b""),
        (
            [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + LENGTH + b"hello"],
            b"hello",
        ),
        ([b"HTTP/1.1 150 Wait\r\ncontent-length: 4\r\n\r\nwait" + LENGTH + b"hello"], b"hello"),
        ([b"HTTP/1.1 150 Wait\r\n" + CHUNKED[17:] + b"4\r\nwait\r\n0\r\n\r\n" + LENGTH + b"hello"], b"hello"),
        ([b"HTTP/1.1 200 OK\ncontent-length: 5\n\nhello"], b"hello"),
        ([LENGTH + b"hel", b""], LostError),
        ([CHUNKED + b"5\r\nhello\r\n", b""], LostError),
        ([b"HTTP/1.1 200 OK\r\ncont", b""], LostError),
        ([b""], LostError),
        ([b"SSH-2.0-OpenSSH\r\n"], NotHttpError),
        ([b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"], NotHttpError),
        ([CHUNKED + b"nothing\r\n"], NotHttpError),
        ([b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * MOST_HEAD], NotHttpError),
        ([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 3 * MOST_HEAD], NotHttpError),
        ([CHUNKED + b"0\r\n" + b"x: y\r\n" * MOST_HEAD], NotHttpError),
        ([b"HTTP/1.1 150 Wait\r\ncontent-length: %d\r\n\r\n" % (8 * MOST_HEAD) + bytes(8 * MOST_HEAD)], NotHttpError),
        ([b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello"], CompressedError),
        ([b"HTTP/1.1 307 Moved\r\nlocation: http://elsewhere\r\ncontent-length: 5\r\n\r\nhello"], HttpRefusedError),
        ([b"HTTP/1.1 500 Broken\r\ncontent-length: 9\r\n\r\nhello", b""], HttpRefusedError),
    ],
    ids=range(29),
)
async def test_what_becomes_of_an_answer(pieces: list[bytes], expected: bytes | type[Exception]) -> None:
    async with raw_upstream(*pieces) as upstream, asking(upstream) as server:
        for _ in range(2):
            if isinstance(expected, bytes):
                assert await body_of(server) == expected
            else:
                with pytest.raises(expected):
                    await body_of(server)


async def test_a_refusal_has_its_text_and_the_first_of_its_headers() -> None:
    head = b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nretry-after: 9\r\ncontent-length: 5\r\n\r\nhello"
    async with raw_upstream(head) as upstream, asking(upstream) as server:
        with pytest.raises(HttpRefusedError) as caught:
            await body_of(server)
    assert (caught.value.status, caught.value.text, caught.value.headers["retry-after"]) == (429, "hello", "7")


@given(data=st.data())
async def test_an_answer_is_the_same_however_it_is_cut(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.binary(min_size=1, max_size=40), max_size=8))
    whole = CHUNKED + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    ended: list[bool] = []
    connection = HttpConnection(asyncio.get_running_loop(), 5, lambda _, is_open: ended.append(is_open))
    connection.connection_made(Opened())
    asked = asyncio.create_task(connection.ask(b"", b"", reused=False))
    await asyncio.sleep(0)
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        if start < end:
            connection.data_received(whole[start:end])
    answer = await asked
    received = b""
    while piece := await answer.read(7):
        received += piece
    assert (received, answer.at_end, ended) == (b"".join(parts), True, [True])
    connection.connection_lost(None)


class Opened(asyncio.Transport):
    """A connection of which only the upper half is there."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        """Whether it has ended."""
        return self.is_aborted

    def abort(self) -> None:
        """Ends it."""
        self.is_aborted = True


async def test_connections_are_used_again_and_requests_have_one_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", http_pool.SETTLE)
    async with raw_upstream(LENGTH + b"hello") as upstream, asking(upstream) as server:
        for _ in range(3):
            assert await body_of(server) == b"hello"
            await asyncio.sleep(3 * http_pool.SETTLE)
        answer = await server.ask(None, "sk-other", {"X-More": "1"})
        answer.release(complete=False)
    assert upstream.connections == 1
    assert set(upstream.heads[:3]) == {
        b"POST /v1/it HTTP/1.1\r\nhost: 127.0.0.1:%d\r\naccept: text/event-stream\r\naccept-encoding: identity\r\n"
        b"content-type: application/json\r\nuser-agent: am-proxy\r\nauthorization: Bearer sk-it\r\n"
        b"content-length: 2\r\n\r\n" % upstream.port
    }
    assert upstream.heads[3].startswith(b"GET /v1/it HTTP/1.1\r\n")
    assert upstream.heads[3].endswith(b"authorization: Bearer sk-other\r\nx-more: 1\r\n\r\n")


@pytest.mark.parametrize("header", ["a\r\nb: c", "a\nb", "a\0"])
async def test_a_header_is_never_two(header: str) -> None:
    async with raw_upstream(LENGTH + b"hello") as upstream, asking(upstream) as server:
        with pytest.raises(ValueError, match="line break"):
            await server.ask(b"{}", header)
    assert upstream.heads == []


@pytest.mark.parametrize("rest", [LENGTH + b"hello", b"x", b"HTTP/1.1 408 Too late\r\n\r\n"])
async def test_what_nobody_asked_for_ends_the_connection(rest: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", http_pool.SETTLE)
    async with raw_upstream(LENGTH + b"hello" + rest) as upstream, asking(upstream) as server:
        for _ in range(2):
            assert await body_of(server) == b"hello"
            await asyncio.sleep(3 * http_pool.SETTLE)
    assert upstream.connections == 2


async def test_what_came_before_the_connection_broke_is_read_first() -> None:
    async with raw_upstream(CHUNKED + b"5\r\nhello\r\n", b"") as upstream, asking(upstream) as server:
        answer = await server.ask(b"{}")
        await asyncio.sleep(0.1)
        pieces = aiter(answer)
        assert await anext(pieces) == b"hello"
        with pytest.raises(LostError):
            await anext(pieces)
        answer.release(complete=False)


async def test_an_upstream_that_is_faster_than_its_reader_is_read_as_far_as_the_buffer_goes() -> None:
    """And its time is not over while nobody reads."""
    size, written = 64 * 1024 * 1024, 0

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        while written < size:
            writer.write(bytes(1 << 16))
            await writer.drain()
            written += 1 << 16

    async with raw_upstream(play=play) as upstream, asking(upstream, timeout=0.2) as server:
        answer = await server.ask(b"{}")
        await asyncio.sleep(0.6)
        held = answer.answer
        assert isinstance(held, HttpAnswer)
        assert held._held <= MOST_HELD + (1 << 18)  # and one read of the event loop
        assert written < size / 2
        assert sum([len(piece) async for piece in answer]) == size
        answer.release(complete=True)


async def test_a_silent_upstream_is_waited_for_as_long_as_the_setting_says() -> None:
    async with raw_upstream(CHUNKED + b"5\r\nhello\r\n") as upstream, asking(upstream, timeout=0.2) as server:
        answer = await server.ask(b"{}")
        pieces = aiter(answer)
        assert await anext(pieces) == b"hello"
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await anext(pieces)
        assert 0.1 < time.monotonic() - began < 2
        answer.release(complete=False)


async def test_a_large_body_is_written_as_fast_as_the_upstream_reads_and_others_run_meanwhile() -> None:
    body = b"x" * (512 * LARGE)
    gate = asyncio.Event()
    received: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        received.append((await read_request(reader))[1])
        writer.write(LENGTH + b"hello")

    async with raw_upstream(play=play) as upstream, asking(upstream) as server:
        asked = asyncio.create_task(body_of(server, body))
        await asyncio.sleep(0.1)
        connection = next(iter(server._pool._used))  # type: ignore[union-attr]
        assert connection._transport.get_write_buffer_size() < 4 * LARGE
        gate.set()
        assert await asked == b"hello"
    assert received == [body]


async def test_an_answer_before_the_whole_body_was_read_is_read_and_the_connection_is_not_used_again() -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too large\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        await asyncio.sleep(0.2)

    async with raw_upstream(play=play) as upstream, asking(upstream) as server:
        for _ in range(2):
            with pytest.raises(HttpRefusedError) as caught:
                await body_of(server, b"x" * (512 * LARGE))
            assert (caught.value.status, caught.value.text) == (413, "hello")
    assert upstream.connections == 2


async def test_a_client_that_leaves_ends_the_connection() -> None:
    ended = asyncio.Event()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"")
        await reader.read(1)
        ended.set()

    async with raw_upstream(play=play) as upstream, asking(upstream) as server:
        asked = asyncio.create_task(server.ask(b"{}"))
        await asyncio.sleep(0.1)
        asked.cancel()
        async with asyncio.timeout(5):
            await ended.wait()


async def test_an_error_that_comes_byte_by_byte_is_read_in_no_more_time_than_another() -> None:
    class Dripping(HttpAnswer):
        async def read(self, _most: int) -> bytes:
            return b"x"

    began = time.process_time()
    assert len(await _error_text(Dripping(HttpConnection(asyncio.get_running_loop(), 5, print)))) > MOST_ERROR_BYTES
    assert time.process_time() - began < 2
