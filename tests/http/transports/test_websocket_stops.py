"""A client ends a running response over a websocket: `response.interrupt` and `response.cancel`."""

import asyncio
import json
from typing import Any

import pytest

from tests.http.transports.websocket_server import WebsocketServer, served, settings_of
from tests.support.long_conversation import HISTORY, NEXT_MESSAGE
from tests.wire import grammar
from tests.wire.configuration import Key
from tests.wire.program import serving
from tests.wire.script import call_turn, calls, counts, more, opens, says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Hang, Latch, ResponsesUpstream, Script
from tests.wire.servers.responses import answer, message, reasoning
from tests.wire.sockets import Client, error_of, opened, text_of

websocket_server = pytest.fixture(served)

Json = dict[str, Any]
WEATHER: Json = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
INTERRUPT: Json = {"type": "response.interrupt", "mode": "discard_partial_items"}


async def send(client: Client, frame: Json) -> None:
    await client.connection.send(json.dumps(frame))


async def begun(client: Client, kind: str, **body: Any) -> list[Json]:
    """The events of a new turn up to one of this type."""
    await client.send(**body)
    events = [await client.event()]
    while events[-1]["type"] != kind:
        events.append(await client.event())
    return events


async def stopped(client: Client, frame: Json, kind: str, **body: Any) -> list[Json]:
    """All events of a turn that this frame ends after an event of this type."""
    events = await begun(client, kind, **body)
    await send(client, {**frame, "response_id": events[0]["response"]["id"]})
    return events + await client.answer()


PARTS: list[tuple[Script, str, list[str], list[str], list[str]]] = [
    # what the model says, the event after which it is stopped, and the items in the output: of an interrupt,
    # of a cancel, and those given up in an interrupt
    ([opens(), says("Half a"), Hang()], "response.output_text.delta", [], ["message incomplete"], ["msg"]),
    (
        [opens(), thinks("hm"), says("Half a"), Hang()],
        "response.output_text.delta",
        ["reasoning completed"],
        ["reasoning completed", "message incomplete"],
        ["msg"],
    ),
    (
        [opens(), thinks("hm"), Hang()],
        "response.reasoning_summary_text.delta",
        [],
        ["reasoning incomplete"],
        ["rs"],
    ),
    (
        [opens(), says("So:"), calls(0, "weather", id="c1"), more(0, '{"a"'), Hang()],
        "response.function_call_arguments.delta",
        ["message completed"],
        ["message completed"],
        ["fc"],
    ),
    ([Hang()], "response.in_progress", [], [], []),
]


@pytest.mark.parametrize(("script", "after", "kept", "cancelled", "given_up"), PARTS)
@pytest.mark.parametrize("verb", ["interrupt", "cancel"])
async def test_a_stopped_response_ends_at_once_and_its_upstream_is_closed(
    script: Script, after: str, kept: list[str], cancelled: list[str], given_up: list[str], verb: str
) -> None:
    frame = INTERRUPT if verb == "interrupt" else {"type": "response.cancel"}
    keys = [Key(name="alice", value="sk-alice", concurrency=1)]
    with ChatUpstream(script, text_turn("Two.")) as upstream:
        with serving(settings_of(upstream, keys, first_payload_wait=0.1)) as url:
            async with opened(url, {"Authorization": "Bearer sk-alice"}) as client:
                events = await stopped(client, frame, after, input="Hello", tools=[WEATHER])
                grammar.check(events)
                response = events[-1]["response"]
                assert (events[-1]["type"], response["status"]) == ("response.incomplete", "incomplete")
                assert response["incomplete_details"] == {"reason": "interrupted"}
                output = [f"{item['type']} {item['status']}" for item in response["output"]]
                assert output == (kept if verb == "interrupt" else cancelled)
                types = [event["type"] for event in events]
                assert types.count("response.interrupt.accepted") == (verb == "interrupt")
                if verb == "interrupt":
                    gone = [event for event in events if event["type"] == "response.output_item.interrupted"]
                    assert [event["item_id"].split("_")[0] for event in gone] == given_up
                [ask] = upstream.asks
                assert await asyncio.to_thread(ask.wait_gone)
                again = await client.ask(input="And?", previous_response_id=response["id"])
                assert text_of(again) == "Two.", "the slot is free, and the connection goes on from there"
        said = [entry.get("content") for entry in upstream.asks[-1].body["messages"] if entry["role"] == "user"]
        assert said == ["Hello", "And?"]
        assert ("Half a" in json.dumps(upstream.asks[-1].body)) is (
            "message incomplete" in cancelled and verb == "cancel"
        )


async def test_what_was_used_until_then_is_reported_or_estimated(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts(
        [opens(), counts(70, 50), says("Half a"), Hang()], [opens(), says("word " * 8), Hang()]
    )
    async with opened(websocket_server.url) as client:
        for expected, is_estimated in ((50, None), (10, True)):
            events = await stopped(client, INTERRUPT, "response.output_text.delta", input="Hello")
            usage = events[-1]["response"]["usage"]
            assert (usage["output_tokens"], usage.get("estimated")) == (expected, is_estimated)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"response_id": "resp_unheard_of"}, "response_not_found"),
        ({"response_id": "KNOWN", "mode": "at once"}, "interrupt_not_supported"),
        ({"response_id": "KNOWN", "mode": None}, "interrupt_not_supported"),
    ],
)
async def test_an_interrupt_that_ends_nothing_is_answered_at_once(
    websocket_server: WebsocketServer, fields: Json, code: str
) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()], text_turn("two"))
    async with opened(websocket_server.url) as client:
        events = await begun(client, "response.output_text.delta", input="Hello")
        known = events[0]["response"]["id"]
        named = {key: known if value == "KNOWN" else value for key, value in fields.items()}
        await send(client, INTERRUPT | named)
        failed = await client.event()
        assert (failed["type"], failed["error"]["code"]) == ("response.interrupt.failed", code)
        assert failed["response_id"] == named["response_id"]
        gate.open()
        assert (await client.answer())[-1]["type"] == "response.completed"
        await send(client, {**INTERRUPT, "response_id": known})
        assert (await client.event())["error"]["code"] == "response_not_found"
        await send(client, {"type": "response.cancel"})
        assert error_of(await client.event()) == (400, "invalid_value", "response_id")
        assert text_of(await client.ask(input="And?", previous_response_id=known)) == "two"


async def test_a_response_is_interrupted_once(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts([opens(), says("one"), Hang()])
    async with opened(websocket_server.url) as client:
        events = await begun(client, "response.output_text.delta", input="Hello")
        for _ in range(3):
            await send(client, {**INTERRUPT, "response_id": events[0]["response"]["id"]})
        seen = [await client.event() for _ in range(5)]
    assert sorted(event["type"] for event in seen) == [
        "response.incomplete",
        "response.interrupt.accepted",
        "response.interrupt.failed",
        "response.interrupt.failed",
        "response.output_item.interrupted",
    ]


async def test_a_cancel_needs_no_id(websocket_server: WebsocketServer) -> None:
    """Not even that of a response that is not created yet."""
    websocket_server.set_scripts([Hang()], [opens(), says("Half a"), Hang()])
    async with opened(websocket_server.url) as client:
        await client.send(input="Hello")
        while not websocket_server.upstream.asks:  # noqa: ASYNC110 — they are counted in another thread
            await asyncio.sleep(0.01)
        await send(client, {"type": "response.cancel"})
        events = await client.answer()
        grammar.check(events)
        assert [event["type"] for event in events[-1:]] == ["response.incomplete"]
        await begun(client, "response.output_text.delta", input="Hello")
        await send(client, {"type": "response.cancel"})
        assert (await client.answer())[-1]["response"]["output"][0]["content"][0]["text"] == "Half a"


async def test_codex_is_sent_the_end_that_it_asked_for(websocket_server: WebsocketServer) -> None:
    """Other incomplete answers end with `response.completed` for it."""
    websocket_server.set_scripts([opens(), says("one"), Hang()])
    async with opened(websocket_server.url, {"originator": "codex_cli_rs"}) as client:
        events = await stopped(client, INTERRUPT, "response.output_text.delta", input="Hello")
    assert (events[-1]["type"], events[-1]["response"]["incomplete_details"]) == (
        "response.incomplete",
        {"reason": "interrupted"},
    )


@pytest.mark.parametrize("verb", ["interrupt", "cancel"])
async def test_a_relayed_response_ends_too(verb: str) -> None:
    whole = answer(reasoning("rs_1", "hm"), message("msg_1", "Half", " a"))
    at = next(index for index, event in enumerate(whole) if event.get("delta") == " a")
    with ResponsesUpstream([*whole[:at], Hang()], answer(message("msg_2", "Two."))) as upstream:
        with serving(settings_of(upstream)) as url:
            async with opened(url) as client:
                frame = INTERRUPT if verb == "interrupt" else {"type": "response.cancel"}
                events = await stopped(client, frame, "response.output_text.delta", input="Hello")
                grammar.check(events)
                response = events[-1]["response"]
                assert response["incomplete_details"] == {"reason": "interrupted"}
                kinds = [item["type"] for item in response["output"]]
                assert kinds == (["reasoning"] if verb == "interrupt" else ["reasoning", "message"])
                assert await asyncio.to_thread(upstream.asks[0].wait_gone)
                assert text_of(await client.ask(input="And?", previous_response_id=response["id"])) == "Two."
        items = [item["type"] for item in upstream.asks[-1].body["input"]]
        assert items == ["message", *kinds, "message"]


@pytest.mark.parametrize("scripts", [([opens(), says("No"), Hang()],), (text_turn("Notes."), [opens(), Hang()])])
async def test_a_turn_that_sums_up_first_ends_in_either_step(
    websocket_server: WebsocketServer, scripts: tuple[Script, ...]
) -> None:
    websocket_server.set_scripts(*scripts)
    long = [HISTORY[0], {"role": "assistant", "content": "word " * 2_000}, NEXT_MESSAGE]
    managed = [{"type": "compaction", "compact_threshold": 1_000}]
    async with opened(websocket_server.url) as client:
        await client.send(input=long, context_management=managed)
        events = [await client.event()]
        while len(websocket_server.upstream.asks) < len(scripts):  # noqa: ASYNC110 — they are counted in another thread
            await asyncio.sleep(0.01)
        await send(client, {**INTERRUPT, "response_id": events[0]["response"]["id"]})
        events += await client.answer()
        grammar.check(events)
        assert events[-1]["response"]["incomplete_details"] == {"reason": "interrupted"}
        assert await asyncio.to_thread(websocket_server.upstream.asks[-1].wait_gone)


async def test_a_call_that_was_done_is_kept_and_can_be_answered(websocket_server: WebsocketServer) -> None:
    [opening, *rest] = call_turn("weather", "{}")
    websocket_server.set_scripts([opening, *rest[:-2], says("So"), Hang()], text_turn("21 degrees"))
    async with opened(websocket_server.url) as client:
        events = await stopped(client, INTERRUPT, "response.output_text.delta", input="Weather?", tools=[WEATHER])
        [call] = events[-1]["response"]["output"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "21"}
        again = await client.ask(input=[output], previous_response_id=events[-1]["response"]["id"], tools=[WEATHER])
        assert text_of(again) == "21 degrees"
