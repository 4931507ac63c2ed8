"""Connections on every lane: which ones are used again, and when a request is sent a second time."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from app.http_client import http_connection, http_pool
from app.http_client.keep import Keep
from app.protocol.problems import Problem
from app.upstreams import litellm_connection, litellm_connector
from tests.support.upstream_asks import answers
from tests.support.upstream_lanes import LANES, ClosingChat, ClosingResponses, client, greeting, server
from tests.wire.script import text_turn
from tests.wire.servers import (
    Ask,
    ChatUpstream,
    Cut,
    Latch,
    Pause,
    Reset,
    Script,
)

NOT_HTTP = "The upstream sent an invalid answer: the answer is not HTTP."
BROKE = "The connection to the upstream broke off."


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections may be used again soon."""
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", http_pool.SETTLE)


async def settled(condition: Callable[[], bool] = lambda: True) -> None:
    """Wait until a connection that was just used may be used again."""
    await asyncio.sleep(3 * http_pool.SETTLE)
    async with asyncio.timeout(20):  # litellm may have to be imported first
        while not condition():  # noqa: ASYNC110 — the server lives in a thread of its own
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("lane", LANES)
async def test_a_server_that_closes_behind_every_answer_fails_no_request(lane: str) -> None:
    with server(lane, greeting(lane), closing=True) as upstream:
        async with client(lane, upstream.url) as (chat, ask):

            async def one_client() -> list[Any]:
                return [(await answers(chat, dict(ask)))[1] for _ in range(6)]

            result = await asyncio.gather(*(one_client() for _ in range(48)))
    assert [problem for problems in result for problem in problems if problem is not None] == []
    assert len(upstream.asks) == 48 * 6, "none is sent twice either"


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("end", [[Cut()], [Reset()], [Pause(0.05), Cut()], [Pause(0.3), Cut()], [Pause(0.3), Reset()]],
    ids=["closes at once", "resets at once", "works a little", "works", "works, resets"])  # fmt: skip
async def test_a_server_that_reads_a_request_and_dies_is_not_sent_it_again(lane: str, end: list[Any]) -> None:
    """On a connection that was used before, where it could be taken for one that was closed while idle."""

    class Dying(ClosingResponses if lane == "responses" else ClosingChat):  # type: ignore[misc]  # one class for both
        async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
            if len(self.asks) < 2:
                return bool(await super()._play(ask, script, writer))
            for step in end:
                await self._step(step, ask, writer)
            return False

    upstream = Dying(greeting(lane))
    upstream.closing = False
    with upstream:
        async with client(lane, upstream.url) as (chat, ask):
            result = []
            for _ in range(2):
                result.append((await answers(chat, dict(ask)))[1])
                await settled()
    assert (upstream.connections, len(upstream.asks)) == (1, 2)
    assert [problem and (problem.code, problem.message) for problem in result] == [None, ("upstream_error", BROKE)]


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("lane", LANES)
async def test_a_connection_that_stays_open_is_used_again(lane: str) -> None:
    with server(lane, greeting(lane)) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            for _ in range(3):
                assert (await answers(chat, dict(ask)))[1] is None
                await settled()
    assert (len(upstream.asks), upstream.connections) == (3, 1)


class Closable(ClosingChat):
    """Ends its connections when the test says so."""

    closing = False

    def __init__(self, *scripts: Script) -> None:
        super().__init__(*scripts)
        self.writers: set[asyncio.StreamWriter] = set()
        """Of the connections that are open."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            await super()._serve(reader, writer)
        finally:
            self.writers.discard(writer)

    def end_connections(self) -> None:
        """Hold up the client's event loop until the end of its connections lies in their sockets, unnoticed."""
        for writer in list(self.writers):
            self._loop.call_soon_threadsafe(writer.close)
        time.sleep(0.05)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("lane", ["chat", "as is"])
async def test_an_idle_connection_that_the_server_has_closed_is_noticed_before_its_use(
    lane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system does not say what was acknowledged, so that nothing can be sent a second time."""
    for module in (http_connection, litellm_connection):
        monkeypatch.setattr(module, "acknowledged", lambda _transport: None)
    with Closable(text_turn("Hi")) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            assert (await answers(chat, dict(ask)))[1] is None
            await settled()
            upstream.end_connections()
            assert (await answers(chat, dict(ask)))[1] is None
    assert (len(upstream.asks), upstream.connections) == (2, 2)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("lane", ["chat", "as is", "llamafile"])
async def test_a_request_that_nobody_can_have_read_is_sent_until_the_connection_is_new(
    lane: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if all idle connections had been closed at the very moment of writing."""
    gate = Latch()
    with Closable([gate, *text_turn("Hi")]) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            running = [asyncio.create_task(answers(chat, dict(ask))) for _ in range(3)]
            await settled(lambda: len(upstream.asks) == 3)
            gate.open()
            assert [(await task)[1] for task in running] == [None] * 3
            await settled()
            monkeypatch.setattr(http_connection, "is_quiet", lambda _transport: True)
            monkeypatch.setattr(litellm_connector, "is_quiet", lambda _transport: True)
            upstream.end_connections()
            assert (await answers(chat, dict(ask)))[1] is None
    assert (len(upstream.asks), upstream.connections) == (4, 4)


@pytest.mark.usefixtures("_quick")
async def test_idle_connections_are_bounded_in_number_and_in_time() -> None:
    for lane in ("chat", "as is"):
        gate = Latch()
        with Closable([gate, *text_turn("Hi")]) as upstream:
            async with client(lane, upstream.url, keep=Keep(connections=2, seconds=0.3)) as (chat, ask):
                running = [asyncio.create_task(answers(chat, dict(ask))) for _ in range(6)]
                await settled(lambda: len(upstream.asks) == 6)
                gate.open()
                assert [(await task)[1] for task in running] == [None] * 6
                await settled(lambda: len(upstream.writers) <= 2)
                assert len(upstream.writers) == 2
                await settled(lambda: not upstream.writers)


async def test_a_server_that_sends_interim_replies_without_end_is_left_before_it_holds_up_anybody() -> None:
    written = 0

    class Endless(ChatUpstream):
        async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:  # noqa: ARG002 — the parent's
            nonlocal written
            with suppress(ConnectionError):
                while written < 400_000:
                    writer.write(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)
                    await writer.drain()
                    written += 1000
            return False

    with Endless([]) as upstream:
        async with client("chat", upstream.url) as (chat, ask):
            _, problem = await answers(chat, dict(ask))
    assert problem == Problem(code="upstream_error", message=NOT_HTTP)
    assert written < 400_000


async def test_some_interim_replies_are_read_over() -> None:
    class Polite(ChatUpstream):
        async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
            writer.write(b"HTTP/1.1 102 Processing\r\n\r\n" * 20)
            return await super()._play(ask, script, writer)

    with Polite(text_turn("Hi")) as upstream:
        async with client("chat", upstream.url) as (chat, ask):
            for _ in range(8):  # more of them on one connection than one answer may have
                assert (await answers(chat, dict(ask)))[1] is None


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("body", [
    b"SSH-2.0-OpenSSH\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 300 + b"HTTP/1.1 200 OK\r\n\r\n",
], ids=["no head", "no size of a chunk", "interim replies"])  # fmt: skip
async def test_an_answer_that_is_not_http_is_reported_in_the_same_words_on_every_lane(lane: str, body: bytes) -> None:
    class Rude(ClosingResponses if lane == "responses" else ClosingChat):  # type: ignore[misc]  # one class for both
        async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:  # noqa: ARG002 — the parent's
            writer.write(body)
            return False

    with Rude(greeting(lane)) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            _, problem = await answers(chat, dict(ask))
    assert (problem, len(upstream.asks)) == (Problem(code="upstream_error", message=NOT_HTTP), 1)
