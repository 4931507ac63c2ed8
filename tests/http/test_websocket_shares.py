"""The shares of websockets: of a caller's turns and requests, and of the connections of a server."""

import json
from contextlib import suppress

import pytest
from websockets.exceptions import InvalidStatus

from tests.http.websocket_server import settings_of
from tests.wire.configuration import Key, Server, Settings
from tests.wire.program import serving
from tests.wire.script import opens, says, stops
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.sockets import error_of, opened, text_of


async def test_a_frame_without_a_slot_is_not_even_decoded() -> None:
    """A slot that is given back with the last event is free for the next frame, whatever the turn came to."""
    gate = Latch()
    headers = {"Authorization": "Bearer sk-alice"}
    key = Key(name="alice", value="sk-alice", concurrency=1)
    with (
        ChatUpstream([opens(), says("one"), gate, stops()]) as upstream,
        serving(settings_of(upstream, keys=[key])) as url,
    ):
        async with opened(url, headers) as one, opened(url, headers) as other:
            await one.send(input="a")
            await one.send(input="b")
            first = await one.beginning()
            assert await other.refusal(input=3) == (429, "rate_limit_exceeded", "")
            gate.open()
            assert [text_of(first + await one.answer()), text_of(await one.answer())] == ["one", "one"]
            for _ in range(3):
                assert await other.refusal(input=3) == (400, "invalid_type", "input")
                assert text_of(await other.ask(input="c")) == "one"
                await other.id_of(input="d", generate=False)


async def test_a_server_has_so_many_connections() -> None:
    with serving(Settings(server=Server(max_websockets=2))) as url:
        async with opened(url):
            async with opened(url):
                with pytest.raises(InvalidStatus) as refused:
                    await opened(url).__aenter__()
            response = refused.value.response
            assert (response.status_code, int(response.headers["retry-after"]) > 0) == (503, True)
            assert json.loads(bytes(response.body or b""))["error"]["code"] == "overloaded"
            while True:  # until the server has seen the one leave
                with suppress(InvalidStatus):
                    async with opened(url):
                        break


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
