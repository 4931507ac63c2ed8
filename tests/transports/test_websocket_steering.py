"""The user speaks while a response runs over a websocket: `response.steer`, and the response that follows."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest

from app.settings import Key, Settings
from app.transports import websocket_steering
from tests.support import grammar
from tests.support.event_stream import judged
from tests.support.script import call_turn, calls, counts, more, opens, says, stops, text_turn, thinks
from tests.support.servers import ChatUpstream, Cut, Hang, Latch, ResponsesUpstream, Script, Status
from tests.support.servers.responses import answer, message, reasoning
from tests.support.serving import serving
from tests.support.sockets import Client, opened, text_of
from tests.support.websocket_server import WebsocketServer, settings_of

Json = dict[str, Any]
WEATHER: Json = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
TEXT = "response.output_text.delta"
THOUGHT = "response.reasoning_summary_text.delta"


async def send(client: Client, **frame: Any) -> None:
    await client.connection.send(json.dumps(frame))


async def steer(client: Client, response_id: str, given: Any) -> None:
    await send(client, type="response.steer", previous_response_id=response_id, input=given)


async def begun(client: Client, kind: str, **body: Any) -> list[Json]:
    """The events of a new turn up to one of this type."""
    await client.send(**body)
    events = [await client.event()]
    while events[-1]["type"] != kind:
        events.append(await client.event())
    return events


async def steered(client: Client, gate: Latch, kind: str, given: Any = "New words", **body: Any) -> list[Json]:
    """All events of a response that is steered after an event of this type."""
    events = await begun(client, kind, **{"input": "Hello"} | body)
    await steer(client, events[0]["response"]["id"], given)
    while events[-1]["type"] != "response.steer.accepted":
        events.append(await client.event())
    gate.open()
    events += await client.answer()
    grammar.check(events)
    return events


def said(upstream: ChatUpstream) -> list[tuple[str, str]]:
    """Role and content of each message of the last ask."""
    return [(entry["role"], entry["content"]) for entry in upstream.asks[-1].body["messages"]]


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


async def test_a_text_is_finished_before_the_next_response(websocket_server: WebsocketServer) -> None:
    """The response is then as complete as if nobody had spoken."""
    gate = Latch()
    websocket_server.set_scripts([opens(), says("Old "), gate, says("text."), stops()], text_turn("New."))
    async with opened(websocket_server.url) as client:
        first = await steered(client, gate, TEXT)
        assert (first[-1]["type"], text_of(first)) == ("response.completed", "Old text.")
        assert text_of(await client.answer()) == "New."
    assert said(websocket_server.upstream) == [("user", "Hello"), ("assistant", "Old text."), ("user", "New words")]


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
        again = await client.ask(input=[output], previous_response_id=response["id"], tools=[WEATHER])
        assert text_of(again) == "New."
    messages = websocket_server.upstream.asks[-1].body["messages"]
    assert [entry["role"] for entry in messages] == ["user", "assistant", "tool", "user"]
    assert messages[-1]["content"] == "New words"


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


async def test_input_that_waits_for_outputs_is_given_back_if_another_response_comes(
    websocket_server: WebsocketServer,
) -> None:
    gate = Latch()
    opening, *rest = call_turn("weather", "{}")
    websocket_server.set_scripts([opening, *rest[:1], gate, *rest[1:]], text_turn("Other."))
    async with opened(websocket_server.url) as client:
        await steered(client, gate, "response.output_item.added", tools=[WEATHER])
        pending = await client.event()
        assert text_of(await client.ask(input="Something else")) == "Other."
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.steer.failed", "response_not_active")
        assert failed["steer"] == {**pending["steer"], "input": "New words"}


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


async def test_a_relayed_response_is_steered_too() -> None:
    gate = Latch()
    whole = answer(reasoning("rs_1", "hm"), message("msg_1", "Old"))
    at = next(index for index, event in enumerate(whole) if event.get("item", {}).get("type") == "message")
    script: Script = [*whole[: at - 1], gate, *whole[at - 1 :]]
    with ResponsesUpstream(script, answer(message("msg_2", "New."))) as upstream:
        with serving(settings_of(upstream)) as url:
            async with opened(url) as client:
                first = await steered(client, gate, THOUGHT)
                assert first[-1]["response"]["incomplete_details"] == {"reason": "steered"}
                assert [item["type"] for item in first[-1]["response"]["output"]] == ["reasoning"]
                assert text_of(await client.answer()) == "New."
        kinds = [(item["type"], item.get("content")) for item in upstream.asks[-1].body["input"]]
    assert [kind for kind, _ in kinds] == ["message", "reasoning", "message"]
    assert kinds[-1][1] == "New words"


async def test_codex_is_told_of_the_steering_as_others_are(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), thinks("hm"), gate, says("Old"), Hang()], text_turn("New."))
    async with opened(websocket_server.url, {"originator": "codex_cli_rs"}) as client:
        first = await steered(client, gate, THOUGHT)
        assert first[-1]["type"] == "response.incomplete"
        assert text_of(await client.answer()) == "New."
