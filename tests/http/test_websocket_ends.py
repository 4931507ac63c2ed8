"""What the turns of a websocket count for, and what ends them when the client leaves."""

import asyncio

import pytest

from tests.http.websocket_server import settings_of
from tests.wire.configuration import Key, Settings
from tests.wire.program import serving
from tests.wire.script import opens, says
from tests.wire.servers import ChatUpstream, Hang
from tests.wire.sockets import error_of, opened


async def test_each_turn_counts_against_its_key_and_so_does_a_warm_up() -> None:
    key = Key(name="alice", value="sk-alice", requests_per_minute=2)
    with serving(Settings(keys=[key]), fresh=True) as url:
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


@pytest.mark.parametrize("way", ["politely", "at once", "with a frame that is too long"])
async def test_a_client_that_leaves_stops_the_upstream_at_once(way: str) -> None:
    with (
        ChatUpstream([opens(), says("Once"), Hang()]) as upstream,
        serving(settings_of(upstream, first_payload_wait=0.1, max_body_bytes=2000)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="Hello")
            await client.send(input="And?")
            while not upstream.asks:
                await asyncio.sleep(0.01)
            match way:
                case "politely":
                    await client.connection.close()
                case "at once":
                    client.connection.transport.abort()
                case _:
                    await client.send(input="x" * 2001)
                    await client.connection.wait_closed()
        [ask] = upstream.asks
        assert await asyncio.to_thread(ask.wait_gone)
