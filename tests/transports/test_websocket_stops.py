"""A client ends the running response of a lane: `response.interrupt` and `response.cancel`."""

import json
from typing import Any

import pytest

from tests.support.websocket_server import WebsocketServer
from tests.wire.script import opens, says, stops
from tests.wire.servers import Latch
from tests.wire.sockets import Client, opened

Json = dict[str, Any]


async def send(client: Client, frame: Json) -> None:
    await client.connection.send(json.dumps(frame))


async def begun(client: Client, kind: str, **body: Any) -> list[Json]:
    """The events of a new turn up to one of this type."""
    await client.send(**body)
    events = [await client.event()]
    while events[-1]["type"] != kind:
        events.append(await client.event())
    return events


@pytest.mark.parametrize("verb", ["cancel", "interrupt"])
async def test_without_an_id_the_response_of_the_lane_ends(websocket_server: WebsocketServer, verb: str) -> None:
    gate = Latch()
    websocket_server.upstream.scripts = ([opens(), says("one"), gate, stops()],)
    async with opened(websocket_server.url) as client:
        for lane in ("a", None):
            await begun(client, "response.output_text.delta", input="x", stream_id=lane)
        await send(client, {"type": f"response.{verb}", "stream_id": "a"})
        assert {event.get("stream_id") for event in await client.answer()} == {"a"}
        for nobody in ("a", "b", ["a"], 7):
            await send(client, {"type": f"response.{verb}", "stream_id": nobody})
            assert (await client.event())["type"] in {"error", "response.interrupt.failed"}
        gate.open()
        events = await client.answer()
        assert (events[-1]["type"], events[-1].get("stream_id")) == ("response.completed", None)
