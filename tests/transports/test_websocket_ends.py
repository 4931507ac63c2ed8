"""How long a websocket lasts, how much it holds, and what ends it."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from app.settings import Server, Settings
from app.transports import websocket_frames
from app.upstreams.demo import Demo
from tests.support.serving import serving
from tests.support.websocket_server import GOING_AWAY, connect_without_reading, settings_of
from tests.wire.event_stream import judged
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.sockets import error_of, opened, text_of

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")


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
