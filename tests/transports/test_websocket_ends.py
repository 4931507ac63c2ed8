"""How long a websocket lasts, how much it holds, and what ends it."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from hashlib import sha256
from typing import Any

import pytest

from app.settings import Key, Server, Settings
from app.transports import websocket_frames
from app.upstreams.demo import Demo
from tests.support.event_stream import judged
from tests.support.script import opens, says, stops, text_turn
from tests.support.servers import ChatUpstream, Hang, Latch, Script
from tests.support.serving import serving
from tests.support.sockets import error_of, opened, text_of
from tests.support.websocket_server import GOING_AWAY, connect_without_reading, settings_of

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")
TOO_BIG = 1009


# limits


async def test_a_frame_that_is_too_long_ends_the_connection() -> None:
    with serving(Settings(server=Server(max_body_bytes=2000))) as url, ChatUpstream():
        async with opened(url) as client:
            await client.send(model="demo", input="x" * 1000)
            await client.answer()
            await client.send(model="demo", input="x" * 2001)
            assert await client.closed() == TOO_BIG


async def test_each_turn_counts_against_its_key_and_so_does_a_warm_up() -> None:
    key = Key("alice", sha256(b"sk-alice").digest(), requests_per_minute=2)
    with serving(Settings(keys=(key,))) as url:
        async with opened(url, {"Authorization": "Bearer sk-alice"}) as client:
            assert client.connection.response is not None
            assert client.connection.response.headers["x-ratelimit-remaining-requests"] == "2"
            await client.id_of(model="demo", input="Hello!", generate=False)
            known = await client.id_of(model="demo", input="Hello!")
            for generate in (True, False):
                [frame] = await client.ask(model="demo", input="Hello!", generate=generate, previous_response_id=known)
                assert error_of(frame) == (429, "rate_limit_exceeded", "")
                assert "try again in" in frame["error"]["message"]


async def test_connections_share_the_turns_of_a_server() -> None:
    with ChatUpstream([opens(), says("one"), Hang()]) as upstream, serving(settings_of(upstream, max_turns=1)) as url:
        async with opened(url) as one, opened(url) as other:
            await one.send(input="Hello")
            await one.beginning()
            assert await other.refusal(input="Hello") == (503, "overloaded", "")


async def test_more_frames_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_frames, "WAITING", 2)
    gate = Latch()
    with (
        ChatUpstream([opens(), says("one"), gate, stops()], text_turn("two")) as upstream,
        serving(settings_of(upstream)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="a")
            first = await client.beginning()
            for text in ("b", "c", "d"):
                await client.send(input=text)
            assert error_of(await client.event()) == (429, "rate_limit_exceeded", "")
            gate.open()
            answers = [first + await client.answer(), await client.answer(), await client.answer()]
    assert [text_of(events) for events in answers] == ["one", "two", "two"]
    assert [ask.body["messages"][-1]["content"] for ask in upstream.asks] == ["a", "b", "c"]


async def test_frames_that_wait_may_be_no_longer_together_than_one_may_be() -> None:
    gate = Latch()
    with (
        ChatUpstream([opens(), says("one"), gate, stops()], text_turn("two")) as upstream,
        serving(settings_of(upstream, max_body_bytes=2000)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="a")
            first = await client.beginning()
            for text in ("b", "c"):
                await client.send(input=text * 1200)
            assert error_of(await client.event()) == (429, "rate_limit_exceeded", "")
            gate.open()
            assert [text_of(first + await client.answer()), text_of(await client.answer())] == ["one", "two"]


async def test_a_conversation_that_outgrows_the_memory_is_forgotten() -> None:
    with (
        ChatUpstream(text_turn("one")) as upstream,
        serving(settings_of(upstream, websocket_memory_bytes=1000)) as url,
    ):
        async with opened(url) as client:
            short = await client.id_of(input="x" * 500)
            long = await client.id_of(input="y" * 500, previous_response_id=short)
            assert await client.refusal(input="z", previous_response_id=long) == NOT_FOUND
            assert await client.refusal(input="z", previous_response_id=short) == NOT_FOUND


async def test_a_connection_without_turns_is_closed_in_time() -> None:
    with ChatUpstream(text_turn("one")) as upstream, serving(settings_of(upstream, websocket_idle=0.3)) as url:
        async with opened(url) as client:
            assert text_of(await client.ask(input="Hello")) == "one"
            began = time.monotonic()
            assert await client.closed() == GOING_AWAY
            assert time.monotonic() - began > 0.2


async def test_a_long_turn_is_not_idleness() -> None:
    gate = Latch()
    with (
        ChatUpstream([opens(), says("one"), gate, stops()]) as upstream,
        serving(settings_of(upstream, websocket_idle=0.2)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="Hello")
            await asyncio.sleep(0.5)
            gate.open()
            assert text_of(await client.answer()) == "one"


async def test_a_connection_does_not_outlive_its_limit() -> None:
    with ChatUpstream(text_turn("one")) as upstream, serving(settings_of(upstream, websocket_lifetime=0.3)) as url:
        async with opened(url) as client:
            assert text_of(await client.ask(input="Hello")) == "one"
            assert error_of(await client.event()) == (400, "websocket_connection_limit_reached", "")
            assert await client.closed() == GOING_AWAY


async def test_the_running_turn_outlives_the_limit_and_those_that_wait_do_not() -> None:
    gate = Latch()
    with (
        ChatUpstream([opens(), says("one"), gate, stops()]) as upstream,
        serving(settings_of(upstream, websocket_lifetime=0.3)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="Hello")
            await client.send(input="And?")
            await asyncio.sleep(0.5)
            gate.open()
            judged(await client.answer())
            assert error_of(await client.event()) == (400, "websocket_connection_limit_reached", "")
            assert await client.closed() == GOING_AWAY
    assert len(upstream.asks) == 1


# leaving


@pytest.mark.parametrize("script", [[Hang()], [opens(), says("Once"), Hang()]], ids=["before a word", "after a word"])
@pytest.mark.parametrize("politely", [True, False])
async def test_a_client_that_leaves_stops_the_upstream_at_once(script: Script, *, politely: bool) -> None:
    with ChatUpstream(script) as upstream, serving(settings_of(upstream, first_payload_wait=0.1)) as url:
        async with opened(url) as client:
            await client.send(input="Hello")
            await client.send(input="And?")
            while (await client.event())["type"] != "response.in_progress":
                pass
            if politely:
                await client.connection.close()
            else:
                client.connection.transport.abort()
        [ask] = upstream.asks
        assert await asyncio.to_thread(ask.wait_gone)


class Flood:
    """Stands where the demo model would: answers without end, as fast as it is read."""

    def __init__(self) -> None:
        self.said = 0
        self.closed = asyncio.Event()

    async def open(self, _ask: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        try:
            while True:
                await asyncio.sleep(0)
                self.said += 1
                yield {"choices": [{"delta": {"content": "word " * 200}}]}
        finally:
            self.closed.set()


async def test_a_client_that_takes_nothing_slows_the_upstream_and_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    flood = Flood()
    monkeypatch.setattr(Demo, "open", flood.open)
    monkeypatch.setattr("app.transports.websocket_guard.LINGER", 0.2)
    with serving(Settings(server=Server(send_timeout=0.5))) as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await connect_without_reading(port)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if flood.closed.is_set():
                break
        assert flood.closed.is_set()
        assert flood.said < 20_000
        taken = 0
        with suppress(ConnectionResetError):  # the connection was cut before all was taken
            while data := await asyncio.wait_for(reader.read(1 << 16), 5):
                taken += len(data)
            writer.close()
            await writer.wait_closed()
        assert taken
