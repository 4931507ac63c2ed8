"""The user speaks while a response runs over a websocket: `response.steer`, and the response that follows."""

import asyncio
from hashlib import sha256
from typing import Any

from app.settings import Key, Settings
from tests.support.serving import serving
from tests.support.steering import THOUGHT, WEATHER, begun, said, steer, steered
from tests.support.websocket_server import WebsocketServer, settings_of
from tests.wire.event_stream import judged
from tests.wire.script import call_turn, calls, counts, more, opens, says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Hang, Latch, ResponsesUpstream
from tests.wire.servers.responses import answer, call, message
from tests.wire.sockets import opened, text_of


async def test_a_response_ends_before_its_next_item_and_another_begins(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts(
        [opens(), thinks("hm"), gate, says("Old"), Hang()],
        [*text_turn("New.")[:-1], counts(70, 50)],
        text_turn("Three."),
    )
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, THOUGHT, instructions="Be brief.", temperature=0.5)
        response = first[-1]["response"]
        assert (first[-1]["type"], response["incomplete_details"]) == ("response.incomplete", {"reason": "steered"})
        assert [(item["type"], item["status"]) for item in response["output"]] == [("reasoning", "completed")]
        assert response["usage"]["estimated"] is True
        second = await client.answer()
        judged(second)
        assert text_of(second) == "New."
        last = second[-1]["response"]
        assert last["previous_response_id"] == response["id"] != last["id"]
        assert (last["instructions"], last["temperature"]) == ("Be brief.", 0.5)
        assert last["usage"]["output_tokens"] == 50
        assert await asyncio.to_thread(websocket_server.upstream.asks[0].wait_gone)
        body = websocket_server.upstream.asks[1].body
        assert (body["messages"][0]["content"], body["temperature"]) == ("Be brief.", 0.5)
        assert text_of(await client.ask(input="And?", previous_response_id=last["id"])) == "Three."
    contents = [content for _, content in said(websocket_server.upstream) if content]
    assert contents == ["Hello", "New words", "New.", "And?"]


async def test_a_response_without_a_word_ends_at_once() -> None:
    with ChatUpstream([Hang()], text_turn("New.")) as upstream:
        with serving(settings_of(upstream, first_payload_wait=0.1)) as url:
            async with opened(url) as client:
                first = await steered(client, Latch(), "response.in_progress")
                assert first[-1]["response"]["incomplete_details"] == {"reason": "steered"}
                assert first[-1]["response"]["output"] == []
                assert text_of(await client.answer()) == "New."
        assert await asyncio.to_thread(upstream.asks[0].wait_gone)
        assert said(upstream) == [("user", "Hello"), ("user", "New words")]


async def test_several_inputs_come_in_their_order_before_frames_that_wait(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts(
        [opens(), thinks("hm"), gate, says("Old"), Hang()], text_turn("New."), text_turn("Last.")
    )
    parts = [{"role": "user", "content": [{"type": "input_text", "text": "c"}]}, {"role": "user", "content": "d"}]
    async with opened(websocket_server.url) as client:
        events = await begun(client, THOUGHT, input="a")
        response_id = events[0]["response"]["id"]
        await client.send(input="waits", previous_response_id=response_id)
        for given in ("b", parts):
            await steer(client, response_id, given)
            assert (await client.event())["type"] == "response.steer.accepted"
        gate.open()
        await client.answer()
        assert text_of(await client.answer()) == "New."
        assert [content for _, content in said(websocket_server.upstream) if content] == ["a", "b", "c", "d"]
        [refused] = await client.answer()
        assert refused["error"]["code"] == "previous_response_not_found"


async def test_calls_get_their_outputs_first(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    opening, *rest = call_turn("weather", '{"city":"Paris"}')
    websocket_server.set_scripts([opening, *rest[:1], gate, *rest[1:]], text_turn("New."))
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, "response.output_item.added", tools=[WEATHER])
        response = first[-1]["response"]
        assert first[-1]["type"] == "response.completed"
        [call] = response["output"]
        pending = await client.event()
        accepted = next(event for event in first if event["type"] == "response.steer.accepted")
        assert pending == {
            "type": "response.steer.pending",
            "sequence_number": len(first),
            "steer": accepted["steer"],
            "reason": "waiting_for_required_input",
            "required_input": [{"type": "function_call_output", "call_id": call["call_id"], "name": "weather"}],
        }
        output = {**pending["required_input"][0], "output": "21"}
        output.pop("name")
        asked = [output, {"role": "user", "content": "And then?"}]
        again = await client.ask(input=asked, previous_response_id=response["id"], tools=[WEATHER])
        assert text_of(again) == "New."
        assert "x_am_warnings" not in again[0], "nothing of this is a fault of the client"
    assert [role for role, _ in said(websocket_server.upstream)] == ["user", "assistant", "tool", "user", "user"]
    assert [content for _, content in said(websocket_server.upstream)][-2:] == ["New words", "And then?"]


async def test_faults_beside_outputs_are_named_as_they_stand_in_the_frame(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    opening, *rest = call_turn("weather", "{}")
    websocket_server.set_scripts([opening, *rest[:1], gate, *rest[1:]])
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, "response.output_item.added", tools=[WEATHER])
        response = first[-1]["response"]
        assert (await client.event())["type"] == "response.steer.pending"
        output = {"type": "function_call_output", "call_id": response["output"][0]["call_id"], "output": "21"}
        fault = [output, {"role": "user", "content": [{"type": "input_text", "text": 1}]}]
        [error] = await client.ask(input=fault, previous_response_id=response["id"], tools=[WEATHER])
        assert error["error"]["param"] == "input[1].content[0].text"


async def test_a_response_with_calls_makes_all_of_them(websocket_server: WebsocketServer) -> None:
    """The calls it has made are run already: it may not end before the others."""
    gate = Latch()
    script: list[Any] = [
        opens(),
        calls(0, "weather", id="c1"),
        more(0, "{}"),
        gate,
        calls(1, "weather", id="c2"),
        more(1, "{}"),
    ]
    websocket_server.set_scripts([*script, stops("tool_calls")])
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, "response.output_item.added", tools=[WEATHER])
        assert len(first[-1]["response"]["output"]) == 2
        pending = await client.event()
        assert [stub["call_id"] for stub in pending["required_input"]] == ["c1", "c2"]


async def test_the_next_response_takes_the_slot_of_the_first_and_stays_in_its_lane(
    websocket_server: WebsocketServer,
) -> None:
    key = Key("alice", sha256(b"sk-alice").digest(), concurrency=1)
    gate = Latch()
    websocket_server.set_scripts([opens(), thinks("hm"), gate, says("Old"), Hang()], text_turn("New."))
    settings = settings_of(websocket_server.upstream)
    with serving(Settings(keys=(key,), upstreams=settings.upstreams, models=settings.models)) as url:
        async with opened(url, {"Authorization": "Bearer sk-alice"}) as client:
            first = await steered(client, gate, THOUGHT, stream_id="main")
            second = await client.answer()
            assert {event["stream_id"] for event in first + second} == {"main"}
            assert text_of(second) == "New."
            assert (await client.ask(input="x"))[-1]["type"] == "response.completed"


async def test_a_relay_asks_with_outputs_before_the_new_words() -> None:
    gate = Latch()
    whole = answer(call("fc_1", "call_1", "weather", "{}"))
    with ResponsesUpstream([*whole[:3], gate, *whole[3:]], answer(message("msg_2", "New."))) as upstream:
        with serving(settings_of(upstream)) as url:
            async with opened(url) as client:
                first = await steered(client, gate, "response.output_item.added", tools=[WEATHER])
                assert (await client.event())["type"] == "response.steer.pending"
                output = {"type": "function_call_output", "call_id": "call_1", "output": "21"}
                await client.ask(input=[output], previous_response_id=first[-1]["response"]["id"], tools=[WEATHER])
        kinds = [item["type"] for item in upstream.asks[-1].body["input"]]
    assert kinds == ["message", "function_call", "function_call_output", "message"]


async def test_codex_is_told_of_the_steering_as_others_are(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), thinks("hm"), gate, says("Old"), Hang()], text_turn("New."))
    async with opened(websocket_server.url, {"originator": "codex_cli_rs"}) as client:
        first = await steered(client, gate, THOUGHT)
        assert first[-1]["type"] == "response.incomplete"
        assert text_of(await client.answer()) == "New."
