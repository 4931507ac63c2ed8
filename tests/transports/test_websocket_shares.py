"""What one caller of websockets does is felt by that caller: slots, connections, and what is remembered."""

import asyncio
import gc
import json
import tracemalloc
from contextlib import AsyncExitStack, suppress
from hashlib import sha256
from typing import Any

from websockets.exceptions import InvalidStatus

from app.settings import Key, Server, Settings
from tests.support.serving import serving
from tests.support.websocket_server import settings_of
from tests.wire.script import opens, says, stops
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.sockets import error_of, opened, text_of, upgraded

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")


async def test_what_all_connections_of_a_caller_remember_is_limited() -> None:
    """A small request costs its caller alone: what does not fit is not remembered, and the error says so."""
    keys = tuple(Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob"))
    server = Server(websocket_caller_bytes=20_000, websocket_total_bytes=40_000)
    alice, bob = ({"Authorization": f"Bearer {name}"} for name in ("alice", "bob"))
    with serving(Settings(keys=keys, server=server)) as url:
        async with opened(url, alice) as first, opened(url, bob) as his:
            long = await first.id_of(model="demo", input="x" * 15_000, generate=False)
            async with opened(url, alice) as second:
                lost = await second.id_of(model="demo", input="y" * 15_000, generate=False)
                assert await second.refusal(model="demo", input="z", previous_response_id=lost) == NOT_FOUND
                kept = await his.id_of(model="demo", input="x" * 15_000, generate=False)
                await his.id_of(model="demo", input="z", previous_response_id=kept)
            await first.id_of(model="demo", input="z", previous_response_id=long)
        async with opened(url, alice) as third:
            last: dict[str, Any] = {}
            for _ in range(200):  # until the first is gone
                known = await third.id_of(model="demo", input="x" * 15_000, generate=False)
                [*_, last] = await third.ask(model="demo", input="z", previous_response_id=known)
                if last["type"] == "response.completed":
                    break
                await asyncio.sleep(0.01)
            assert last["type"] == "response.completed"


async def test_frames_that_wait_count_as_what_their_caller_has_the_server_remember() -> None:
    gate = Latch()
    with (
        ChatUpstream([opens(), says("one"), gate, stops()]) as upstream,
        serving(settings_of(upstream, websocket_total_bytes=3000)) as url,
    ):
        async with opened(url) as one, opened(url) as other:
            for client in (one, other):
                await client.send(input="a" * 5000)
                await client.beginning()
            await one.send(input="b" * 2000)
            await asyncio.sleep(0.05)
            await other.send(input="c" * 2000)
            assert error_of(await other.event()) == (429, "rate_limit_exceeded", "")
            gate.open()
            assert [text_of(await client.answer()) for client in (one, other, one)] == ["", "", "one"]


async def test_messages_that_are_not_whole_count_too() -> None:
    """Nobody holds many of them for as long as a connection may be quiet; whole ones are as long as they may be."""
    half = bytes([0x81, 0x80 | 127]) + (400_000).to_bytes(8, "big") + bytes(4) + b" " * 200_000
    with serving(Settings(server=Server(websocket_total_bytes=500_000))) as url:
        async with opened(url) as whole:
            assert text_of(await whole.ask(model="demo", input=f"Hello!{' ' * 300_000}"))
        raws = [await upgraded(url) for _ in range(3)]
        for _, writer in raws:
            writer.write(half)
            await asyncio.sleep(0.05)
        assert [await is_ended(reader) for reader, _ in raws] == [False, False, True]
        for _, writer in raws:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        last: dict[str, Any] = {}
        async with opened(url) as later:
            for _ in range(200):  # until they are gone
                known = await later.id_of(model="demo", input="x" * 400_000, generate=False)
                [*_, last] = await later.ask(model="demo", input="z", previous_response_id=known, generate=False)
                if last["type"] == "response.completed":
                    break
                await asyncio.sleep(0.01)
        assert last["type"] == "response.completed"


async def is_ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server has cut or closed this connection, or does so within a moment."""
    try:
        async with asyncio.timeout(0.2):
            return (await reader.read(4))[:1] in {b"", b"\x88"}
    except TimeoutError:
        return False
    except ConnectionError:
        return True


async def test_nothing_of_a_frame_is_held_when_it_was_refused() -> None:
    """Neither here nor by the libraries below, which wait for the next one as long as the connection may be quiet."""
    key = Key("alice", sha256(b"sk-alice").digest(), requests_per_minute=1)
    long = 2_000_000
    with serving(Settings(keys=(key,))) as url:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(opened(url, {"Authorization": "Bearer sk-alice"})) for _ in range(8)
            ]
            await clients[0].id_of(model="demo", input="Hi")
            gc.collect()
            tracemalloc.start()
            try:
                for client in clients:
                    assert await client.refusal(model="demo", input="x" * long) == (429, "rate_limit_exceeded", "")
                gc.collect()
                held, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert held < 2 * long


async def test_connections_are_limited_for_each_caller_and_in_all() -> None:
    keys = tuple(Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob"))
    alice, bob = ({"Authorization": f"Bearer {name}"} for name in ("alice", "bob"))
    with serving(Settings(keys=keys, server=Server(max_websockets=3, max_caller_websockets=2))) as url:
        async with opened(url, bob), opened(url, alice):
            async with opened(url, alice):
                assert await refusal(url, alice) == (503, "overloaded")
            assert await comes_in(url, alice)
    with serving(Settings(keys=keys, server=Server(max_websockets=9, max_caller_websockets=2))) as url:
        async with opened(url, alice), opened(url, alice):
            assert await refusal(url, alice) == (429, "rate_limit_exceeded")
            assert await comes_in(url, bob)


async def comes_in(url: str, headers: dict[str, str]) -> bool:
    """Whether one more connection is taken, as soon as those that were closed are gone."""
    for _ in range(200):
        if await refusal(url, headers) is None:
            return True
        await asyncio.sleep(0.01)
    return False


async def refusal(url: str, headers: dict[str, str]) -> tuple[int, str] | None:
    """With which status and code one more connection is refused; none where it is not."""
    try:
        async with opened(url, headers):
            return None
    except InvalidStatus as refused:
        response = refused.response
        assert int(response.headers["retry-after"]) > 0
        return response.status_code, json.loads(bytes(response.body or b""))["error"]["code"]
