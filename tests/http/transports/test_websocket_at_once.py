"""Frames of a websocket that no turn can serve: answered while a turn runs, and without harm to it or to the memory."""

import json
from typing import Any

import pytest

from tests.http.transports.websocket_server import WebsocketServer, served
from tests.wire.event_stream import judged
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import Latch
from tests.wire.sockets import Client, error_of, opened, text_of

websocket_server = pytest.fixture(served)


async def send_raw(client: Client, frame: Any) -> None:
    """A frame of any kind: an object is sent as JSON."""
    await client.connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ("no JSON", "invalid_json", ""),
        (b"\xff", "invalid_json", ""),
        ("[1]", "invalid_type", "body"),
        ("{" * 5000, "invalid_json", ""),
        ('{"a":' * 5000 + "1" + "}" * 5000, "invalid_json", ""),
        ({"input": "x"}, "missing_required_parameter", "type"),
        ({"type": ["response.create"]}, "invalid_type", "type"),
        ({"type": "response.unheard_of", "previous_response_id": "KNOWN"}, "invalid_value", "type"),
        ({"type": "x" * 5000}, "invalid_value", "type"),
        *(
            ({"type": f"response.{kind}", "response_id": value}, code, "response_id")
            for kind in ("interrupt", "cancel")
            for value, code in (("x" * 5000, "invalid_value"), ([7] * 5000, "invalid_type"))
        ),
    ],
)
async def test_what_no_turn_can_serve_is_refused_while_a_turn_runs(
    websocket_server: WebsocketServer, frame: Any, code: str, param: str
) -> None:
    gate = Latch()
    websocket_server.set_scripts(text_turn("one"), [opens(), says("two"), gate, stops()], text_turn("three"))
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input="Hello")
        if isinstance(frame, dict):
            frame = {key: known if value == "KNOWN" else value for key, value in frame.items()}
        await client.send(input="Aside")
        first = await client.beginning()
        await send_raw(client, frame)
        refusal = await client.event()
        assert error_of(refusal) == (400, code, param)
        assert len(refusal["error"]["message"]) < 500
        gate.open()
        events = first + await client.answer()
        judged(events)
        assert text_of(await client.ask(input="And?", previous_response_id=events[-1]["response"]["id"])) == "three"


@pytest.mark.parametrize("frame", [{"type": "response.unheard_of"}, "no JSON"], ids=str)
async def test_a_frame_that_names_the_last_response_does_not_make_the_connection_forget_it(
    websocket_server: WebsocketServer, frame: Any
) -> None:
    websocket_server.set_scripts(text_turn("one"), text_turn("two"))
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input="Hello")
        named = {**frame, "previous_response_id": known} if isinstance(frame, dict) else frame
        await send_raw(client, named)
        assert (await client.event())["type"] == "error"
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"
