"""Frames of a websocket that steer, that inject, that are too long or too many."""

import json
from typing import Any

import pytest

from app.transports import websocket_control, websocket_guard
from app.transports.websocket_guard import POLICY
from tests.support.websocket_server import WebsocketServer
from tests.wire.event_stream import judged
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import Latch
from tests.wire.sockets import Client, error_of, opened, text_of

IDS = {"steer": "previous_response_id", "inject": "response_id", "interrupt": "response_id", "cancel": "response_id"}
"""The id in each frame that is about a response."""


async def send_raw(client: Client, frame: Any) -> None:
    """A frame of any kind: an object is sent as JSON."""
    await client.connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ({"type": "response.create", "stream_id": "x" * 5000}, "invalid_stream_id", "stream_id"),
        ({"type": "response.create", "stream_id": ["x"] * 5000}, "invalid_stream_id", "stream_id"),
        *(
            ({"type": f"response.{kind}", name: value}, code, name)
            for kind, name in (("steer", "previous_response_id"), ("inject", "response_id"))
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


@pytest.mark.parametrize("kind", [*IDS, "unheard_of"])
async def test_a_frame_that_starts_no_turn_and_is_too_long_is_refused(
    websocket_server: WebsocketServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Nothing of it is decoded or repeated, and the turn that it is about goes on."""
    monkeypatch.setattr(websocket_control, "LONGEST", 3000)
    monkeypatch.setattr(websocket_control, "LONGEST_STEER", 4000)
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()], text_turn("two"))
    async with opened(websocket_server.url) as client:
        await client.send(input="Hello")
        first = await client.beginning()
        known = first[0]["response"]["id"]
        frame = {"type": f"response.{kind}", IDS.get(kind, "response_id"): known, "input": "x" * 4000}
        await send_raw(client, frame)
        refusal = await client.event()
        assert error_of(refusal) == (413, "request_too_large", "")
        assert f"'response.{kind}'" in refusal["error"]["message"]
        assert ("4000 bytes" if kind == "steer" else "3000 bytes") in refusal["error"]["message"]
        gate.open()
        judged(first + await client.answer())
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"


async def test_a_steer_may_hold_a_picture(websocket_server: WebsocketServer) -> None:
    """And a `response.create` may be as long as a body."""
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()], text_turn("two"))
    picture = f"data:image/png;base64,iVBORw0KGgo{'A' * 2_000_001}"
    parts = [{"type": "input_text", "text": "This:"}, {"type": "input_image", "image_url": picture}]
    async with opened(websocket_server.url, max_size=None) as client:
        await client.send(input="x" * 5_000_000)
        known = (await client.beginning())[0]["response"]["id"]
        given = [{"role": "user", "content": parts}]
        await send_raw(client, {"type": "response.steer", "previous_response_id": known, "input": given})
        while (await client.event())["type"] != "response.steer.accepted":
            pass
        gate.open()
        await client.answer()
        assert text_of(await client.answer()) == "two"


@pytest.mark.parametrize("given", ["new words", [{"role": "user", "content": "new words"}], None])
async def test_input_that_cannot_be_used_is_given_back_at_once(
    websocket_server: WebsocketServer, given: object
) -> None:
    websocket_server.set_scripts(text_turn("one"), text_turn("two"))
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input="Hello")
        await send_raw(client, {"type": "response.inject", "response_id": known, "input": given})
        failed = await client.event()
        assert (failed["type"], failed["response_id"], failed["input"]) == ("response.inject.failed", known, given)
        assert failed["error"]["code"] == "response_not_found"
        await send_raw(client, {"type": "response.steer", "previous_response_id": known, "input": given})
        failed = await client.event()
        assert (failed["type"], failed["error"]["type"]) == ("response.steer.failed", "invalid_request_error")
        assert failed["steer"] == {"previous_response_id": known, "input": given}
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"


@pytest.mark.parametrize(
    "frame",
    [{"type": "response.inject"}, {"type": "response.steer"}],
    ids=str,
)
async def test_a_frame_that_names_the_last_response_does_not_make_the_connection_forget_it(
    websocket_server: WebsocketServer, frame: Any
) -> None:
    websocket_server.set_scripts(text_turn("one"), text_turn("two"))
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input="Hello")
        named = {**frame, "previous_response_id": known} if isinstance(frame, dict) else frame
        await send_raw(client, named)
        assert (await client.event())["type"] in {"error", "response.inject.failed", "response.steer.failed"}
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"


async def test_too_many_frames_that_no_turn_can_serve_end_the_connection(
    websocket_server: WebsocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long they are: each costs a look, and an answer."""
    monkeypatch.setattr(websocket_guard, "BURST", 5)
    monkeypatch.setattr(websocket_guard, "RATE", 0)
    async with opened(websocket_server.url) as client:
        for _ in range(6):
            await send_raw(client, {"type": "response.unheard_of", "padding": "x" * 2000})
        for _ in range(5):
            assert error_of(await client.event()) == (400, "invalid_value", "type")
        assert await client.closed() == POLICY
