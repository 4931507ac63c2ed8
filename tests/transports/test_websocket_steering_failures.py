"""Input for a running response over a websocket that is refused, or given back because it cannot be used."""

from typing import Any

import pytest

from app.transports import websocket_steering
from tests.support.serving import serving
from tests.support.steering import TEXT, THOUGHT, WEATHER, Json, begun, said, send, steer, steered
from tests.support.websocket_server import WebsocketServer, settings_of
from tests.wire.event_stream import judged
from tests.wire.script import call_turn, opens, says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Cut, Hang, Latch, Status
from tests.wire.sockets import opened, text_of


async def test_input_is_given_back_if_the_continuation_with_outputs_is_refused(
    websocket_server: WebsocketServer,
) -> None:
    gate = Latch()
    opening, *rest = call_turn("weather", "{}")
    websocket_server.set_scripts([opening, *rest[:1], gate, *rest[1:]], [Status(500)])
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, "response.output_item.added", tools=[WEATHER])
        pending = await client.event()
        output = {"type": "function_call_output", "call_id": "wrong", "output": "21"}
        [error] = await client.ask(input=[output], previous_response_id=first[-1]["response"]["id"])
        assert error["error"]["param"] == "input[0].call_id"
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "successor_creation_failed")
        assert failed["steer"] == {**pending["steer"], "input": "New words"}


@pytest.mark.parametrize(
    ("script", "kind", "code"),
    [
        ([opens(), thinks("hm"), "gate", says("Old"), Hang()], THOUGHT, "successor_creation_failed"),
        ([opens(), says("Half a"), "gate", Cut()], TEXT, "response_not_active"),
    ],
    ids=["the next ask is refused", "the response breaks off"],
)
async def test_input_that_cannot_be_used_is_given_back(
    websocket_server: WebsocketServer, script: list[Any], kind: str, code: str
) -> None:
    gate = Latch()
    websocket_server.set_scripts([gate if step == "gate" else step for step in script], [Status(500)], text_turn("Ok."))
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, kind)
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", code)
        assert (failed["steer"]["input"], failed["sequence_number"]) == ("New words", len(first))
        websocket_server.set_scripts(text_turn("Ok."))
        assert text_of(await client.ask(input="From the start")) == "Ok."


async def test_an_interrupt_gives_back_what_was_accepted(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts([opens(), says("Half a"), Hang()])
    async with opened(websocket_server.url) as client:
        events = await begun(client, TEXT, input="Hello")
        response_id = events[0]["response"]["id"]
        await steer(client, response_id, "New words")
        await send(client, type="response.interrupt", response_id=response_id, mode="discard_partial_items")
        assert (await client.answer())[-1]["response"]["incomplete_details"] == {"reason": "interrupted"}
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_active")


INVALID: list[tuple[Json, str]] = [
    ({"input": None}, "input"),
    ({"input": ""}, "input"),
    ({"input": []}, "input"),
    ({"input": 7}, "input"),
    ({"input": [7]}, "input[0]"),
    ({"input": [{"role": "developer", "content": "x"}]}, "input[0]"),
    ({"input": [{"role": "user", "content": "x", "id": "msg_1"}]}, "input[0].id"),
    ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input[0]"),
    ({"input": [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]}, "input[0].content[0].type"),
    ({"input": [{"role": "user", "content": [7]}]}, "input[0].content[0]"),
    ({"input": "x", "stream_id": "a"}, "stream_id"),
    ({"input": "x", "previous_response_id": None}, "previous_response_id"),
    ({"input": "x", "previous_response_id": 7}, "previous_response_id"),
]


@pytest.mark.parametrize(("fields", "named"), INVALID)
async def test_invalid_input_is_refused_at_once_and_changes_nothing(
    websocket_server: WebsocketServer, fields: Json, named: str
) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), thinks("hm"), gate, says("Hi"), stops()])
    async with opened(websocket_server.url) as client:
        events = await begun(client, THOUGHT, input="Hello")
        frame = {"previous_response_id": events[0]["response"]["id"]} | fields
        await send(client, type="response.steer", **frame)
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "invalid_input")
        assert f"'{named}" in failed["error"]["message"]
        assert failed["steer"] == {key: frame.get(key) for key in ("previous_response_id", "input")}
        gate.open()
        judged(events + await client.answer())


async def test_a_response_that_does_not_run_cannot_be_steered(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input="Hello")
        for response_id, code in ((known, "response_already_completed"), ("resp_unheard_of", "response_not_found")):
            await steer(client, response_id, "x")
            failed = await client.event()
            assert (failed["error"]["code"], failed["steer"]["input"]) == (code, "x")
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"


async def test_a_response_that_may_begin_with_a_summary_cannot_be_steered(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), says("Hi"), gate, stops()])
    managed = [{"type": "compaction", "compact_threshold": 100_000}]
    async with opened(websocket_server.url) as client:
        events = await begun(client, TEXT, input="Hello", context_management=managed, stream_id="main")
        await steer(client, events[0]["response"]["id"], "x")
        failed = await client.event()
        assert (failed["error"]["code"], failed["stream_id"]) == ("steering_not_supported", "main")
        gate.open()
        assert (await client.answer())[-1]["type"] == "response.completed"


async def test_only_so_much_input_waits(websocket_server: WebsocketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_steering, "MOST", 2)
    gate = Latch()
    websocket_server.set_scripts([opens(), says("Hi"), gate, stops()], text_turn("New."))
    async with opened(websocket_server.url) as client:
        events = await begun(client, TEXT, input="Hello")
        for given in ("a", "b", "c"):
            await steer(client, events[0]["response"]["id"], given)
        seen = {(await client.event())["type"] for _ in range(2)}
        failed = await client.event()
        while failed["type"] != "response.steer.failed" and "response.steer.failed" not in seen:
            failed = await client.event()
        gate.open()
        await client.answer()
        await client.answer()
    assert [content for _, content in said(websocket_server.upstream)] == ["Hello", "Hi", "a", "b"]


async def test_the_bytes_that_wait_are_limited_and_given_back() -> None:
    with ChatUpstream() as upstream, serving(settings_of(upstream, max_body_bytes=3000)) as url:
        async with opened(url) as client:
            for _ in range(3):
                gate = Latch()
                upstream.scripts = ([opens(), says("Hi"), gate, stops()], text_turn("New."))
                upstream.asks.clear()
                events = await begun(client, TEXT, input="Hello")
                for _ in range(2):
                    await steer(client, events[0]["response"]["id"], "x" * 1500)
                kinds = sorted([(await client.event())["type"], (await client.event())["type"]])
                assert kinds == ["response.steer.accepted", "response.steer.failed"]
                gate.open()
                assert (await client.answer())[-1]["type"] == "response.completed"
                assert (await client.answer())[-1]["type"] == "response.completed"
