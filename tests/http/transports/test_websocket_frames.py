"""What may be said over a websocket, in which order it is answered, and how the answers travel."""

import asyncio

import pytest

from tests.http.transports.websocket_server import WebsocketServer, served, settings_of
from tests.wire.event_stream import judged
from tests.wire.program import serving
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.sockets import error_of, opened, text_of

websocket_server = pytest.fixture(served)


async def test_frames_that_come_together_are_answered_in_their_order(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()], text_turn("two"), text_turn("three"))
    async with opened(websocket_server.url) as client:
        for text in ("a", "b", "c"):
            await client.send(input=text)
        first = await client.beginning()
        assert len(websocket_server.upstream.asks) == 1
        gate.open()
        answers = [first + await client.answer(), await client.answer(), await client.answer()]
    assert [text_of(events) for events in answers] == ["one", "two", "three"]
    assert [ask.body["messages"][-1]["content"] for ask in websocket_server.upstream.asks] == ["a", "b", "c"]
    for events in answers:
        judged(events)


async def test_a_frame_may_continue_the_answer_it_does_not_wait_for(websocket_server: WebsocketServer) -> None:
    """The first event has its id, long before the last."""
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()], text_turn("two"))
    async with opened(websocket_server.url) as client:
        await client.send(input="a")
        created = await client.event()
        await client.send(input="b", previous_response_id=created["response"]["id"])
        gate.open()
        answers = [await client.answer(), await client.answer()]
    assert [text_of(events) for events in answers] == ["one", "two"]
    assert websocket_server.messages() == [("user", "a"), ("assistant", "one"), ("user", "b")]


async def test_two_conversations_at_once_never_mix(websocket_server: WebsocketServer) -> None:
    websocket_server.upstream.scripts = (lambda ask: text_turn(f"You said {ask.body['messages'][-1]['content']}."),)
    async with opened(websocket_server.url) as one, opened(websocket_server.url) as other:
        clients = {"one": one, "other": other}
        ids: dict[str, str | None] = dict.fromkeys(clients)
        for number in range(10):
            for name, client in clients.items():
                await client.send(input=f"{name} {number}", previous_response_id=ids[name])
            for name, client in clients.items():
                events = await client.answer()
                judged(events)
                ids[name] = events[-1]["response"]["id"]
                assert text_of(events) == f"You said {name} {number}."
    for ask in websocket_server.upstream.asks[-2:]:
        items = [message["content"] for message in ask.body["messages"] if message["role"] == "user"]
        name = items[0].split()[0]
        assert items == [f"{name} {number}" for number in range(10)]


async def test_a_warm_up_asks_nothing_and_is_remembered(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        events = await client.ask(input=[{"role": "developer", "content": "Be brief."}], generate=False)
        judged(events)
        response = events[-1]["response"]
        assert (response["status"], response["output"], response["usage"]["total_tokens"]) == ("completed", [], 0)
        assert websocket_server.upstream.asks == []
        assert text_of(await client.ask(input="Hello", previous_response_id=response["id"])) == "one"
    assert [content for _, content in websocket_server.messages()] == ["Be brief.", "Hello"]


async def test_a_warm_up_may_have_nothing_to_say(websocket_server: WebsocketServer) -> None:
    """As Codex's with Responses Lite."""
    async with opened(websocket_server.url) as client:
        known = await client.id_of(input=[], generate=False)
        assert text_of(await client.ask(input="Hello", previous_response_id=known)) == "one"
        assert await client.refusal(input=[]) == (400, "invalid_value", "input")
    assert websocket_server.messages() == [("user", "Hello")]


async def test_a_warm_up_of_what_cannot_be_asked_is_refused(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        image = {"type": "input_image", "image_url": "http://127.0.0.1/x.png"}
        fault = [{"role": "user", "content": [image]}]
        refused = await client.refusal(input=fault, generate=False)
    assert refused == (400, "invalid_value", "input[0].content[0].image_url")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"stream": True}, "unsupported_parameter", "stream"),
        ({"stream": False}, "unsupported_parameter", "stream"),
        ({"stream_options": {}}, "unsupported_parameter", "stream_options"),
        ({"background": False}, "unsupported_parameter", "background"),
        ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
        ({"generate": "no"}, "invalid_type", "generate"),
        ({"previous_response_id": 1}, "invalid_type", "previous_response_id"),
        ({"include": "all"}, "invalid_type", "include"),
        ({"type": "response.unheard_of"}, "invalid_value", "type"),
        ({"type": "response.cancel"}, "invalid_value", "response_id"),
        ({"type": None}, "missing_required_parameter", "type"),
        ({"model": None}, "missing_required_parameter", "model"),
        ({"input": None}, "missing_required_parameter", "input"),
    ],
)
async def test_what_cannot_be_said_over_a_websocket(
    websocket_server: WebsocketServer, body: dict[str, object], code: str, param: str
) -> None:
    async with opened(websocket_server.url) as client:
        assert await client.refusal(**{"input": "x"} | body) == (400, code, param)
        assert text_of(await client.ask(input="Hello")) == "one"
    assert len(websocket_server.upstream.asks) == 1


@pytest.mark.parametrize(
    ("frame", "code"),
    [("rubbish", "invalid_json"), ("[]", "invalid_type"), ("", "invalid_json"), (b"\xff\x00", "invalid_json")],
)
async def test_what_is_no_json_object_is_refused(
    websocket_server: WebsocketServer, frame: str | bytes, code: str
) -> None:
    async with opened(websocket_server.url) as client:
        await client.connection.send(frame)
        assert error_of(await client.event())[:2] == (400, code)
        assert text_of(await client.ask(input="Hello")) == "one"


async def test_those_who_speak_the_form_before_the_release_may_say_stream(websocket_server: WebsocketServer) -> None:
    """As Codex does in every frame."""
    async with opened(websocket_server.url, {"OpenAI-Beta": "responses_websockets=2026-02-06"}) as client:
        assert text_of(await client.ask(input="Hello", stream=True, stream_options={"x": 1})) == "one"
        assert await client.refusal(input="x", background=True) == (400, "unsupported_parameter", "background")


async def test_line_ends_that_clients_split_at_are_escaped(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts(text_turn("a\u2028b\u2029c\u0085d"))
    async with opened(websocket_server.url) as client:
        await client.send(input="Hello")
        frames: list[str] = []
        while not frames or "response.completed" not in frames[-1]:
            frames.append(str(await client.connection.recv()))
    assert [len(frame.splitlines()) for frame in frames] == [1] * len(frames)
    assert "a\\u2028b\\u2029c\\u0085d" in frames[-1]


async def test_a_silent_upstream_is_covered_by_signs_of_life() -> None:
    gate = Latch()
    with (
        ChatUpstream([opens(), says("Hi"), gate, stops()]) as upstream,
        serving(settings_of(upstream, keep_alive=0.1)) as url,
    ):
        async with opened(url) as client:
            await client.send(input="Hello")
            events: list[dict[str, object]] = []
            while not any(event.get("delta") == "" for event in events):
                events.append(await client.event())
            gate.open()
            judged(events + await client.answer())


async def test_a_ping_is_answered_in_the_middle_of_a_turn(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), says("Hi"), gate, stops()])
    async with opened(websocket_server.url) as client:
        await client.send(input="Hello")
        first = await client.beginning()
        waiting = await client.connection.ping()
        await asyncio.wait_for(waiting, 5)
        gate.open()
        judged(first + await client.answer())
