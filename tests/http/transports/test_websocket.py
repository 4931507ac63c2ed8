"""Turns over a websocket: the same events, and nothing but the connection's own last response known."""

import httpx
import pytest

from tests.http.transports.websocket_server import WebsocketServer, served, settings_of
from tests.wire.event_stream import events_of, judged
from tests.wire.program import serving
from tests.wire.script import call_turn, opens, says, text_turn, thinks, turn
from tests.wire.servers import Cut, ResponsesUpstream, Script, Status
from tests.wire.servers.responses import answer, message, reasoning
from tests.wire.sockets import error_of, opened, text_of

websocket_server = pytest.fixture(served)

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}


async def test_every_answer_obeys_the_grammar_of_streams_and_counts_from_nought(
    websocket_server: WebsocketServer,
) -> None:
    websocket_server.set_scripts(turn(thinks("hm"), says("Hi")), call_turn("weather", "{}"))
    async with opened(websocket_server.url) as client:
        first = await client.ask(input="Hello", tools=[WEATHER])
        second = await client.ask(input="And?", tools=[WEATHER])
    assert [piece[0] for piece in judged(first).pieces + judged(second).pieces] == ["thought", "text", "call"]
    assert [events[0]["sequence_number"] for events in (first, second)] == [0, 0]


@pytest.mark.parametrize("path", ["/v1/responses", "/responses", "/v1/responses/", "/v1/responses?x=1"])
async def test_it_is_found_where_the_post_is(websocket_server: WebsocketServer, path: str) -> None:
    async with opened(websocket_server.url, path=path) as client:
        assert text_of(await client.ask(input="Hello")) == "one"


async def test_a_continuation_needs_only_what_is_new(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        second = await client.id_of(input=[{"role": "user", "content": "And?"}], previous_response_id=first)
        events = await client.ask(input="So?", previous_response_id=second)
    judged(events)
    assert text_of(events) == "three"
    echoed = [event["response"]["previous_response_id"] for event in events if "response" in event]
    assert set(echoed) == {second}
    assert websocket_server.messages() == [
        ("user", "Hello"),
        ("assistant", "one"),
        ("user", "And?"),
        ("assistant", "two"),
        ("user", "So?"),
    ]


async def test_instructions_are_said_anew_each_time(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello", instructions="Be brief.")
        await client.ask(input="And?", previous_response_id=first)
    assert websocket_server.messages() == [("user", "Hello"), ("assistant", "one"), ("user", "And?")]


async def test_another_connection_knows_nothing_of_it(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        async with opened(websocket_server.url) as other:
            assert await other.refusal(input="x", previous_response_id=first) == NOT_FOUND
            assert text_of(await other.ask(input="From the start")) == "two"
        assert text_of(await client.ask(input="And?", previous_response_id=first)) == "three"
    assert websocket_server.messages() == [("user", "Hello"), ("assistant", "one"), ("user", "And?")]


@pytest.mark.parametrize(
    ("fails", "script"),
    [
        ({"input": [{"type": "function_call_output", "call_id": "call_x", "output": "y"}]}, text_turn("unused")),
        ({"input": [{"role": "nobody", "content": "x"}]}, text_turn("unused")),
        ({"input": "x", "background": True}, text_turn("unused")),
        ({"input": "x"}, [Status(500)]),
        ({"input": "x"}, [opens(), says("Half a"), Cut()]),
    ],
    ids=["an output without a call", "no request", "not here", "the upstream refuses", "the upstream breaks off"],
)
async def test_a_continuation_that_fails_forgets_what_it_continued(
    websocket_server: WebsocketServer, fails: dict[str, object], script: Script
) -> None:
    websocket_server.set_scripts(text_turn("one"), script)
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        last = (await client.ask(**fails, previous_response_id=first))[-1]
        assert last["type"] in {"error", "response.failed"}
        assert await client.refusal(input="x", previous_response_id=first) == NOT_FOUND
        websocket_server.set_scripts(text_turn("anew"))
        assert text_of(await client.ask(input="From the start")) == "anew"


async def test_a_turn_that_continues_nothing_may_fail_without_harm(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts(text_turn("one"), [Status(500)], text_turn("three"))
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        assert await client.refusal(input="x") == (502, "upstream_error", "")
        assert text_of(await client.ask(input="And?", previous_response_id=first)) == "three"


async def test_an_answer_that_hit_its_limit_can_be_continued(websocket_server: WebsocketServer) -> None:
    websocket_server.set_scripts(turn(says("Half a"), reason="length"), text_turn("sentence."))
    async with opened(websocket_server.url) as client:
        [*_, last] = await client.ask(input="Hello")
        assert last["type"] == "response.incomplete"
        assert text_of(await client.ask(input="Go on", previous_response_id=last["response"]["id"])) == "sentence."


async def test_a_history_without_its_start_is_mended_where_nothing_is_continued(
    websocket_server: WebsocketServer,
) -> None:
    async with opened(websocket_server.url) as client:
        output = {"type": "function_call_output", "call_id": "call_x", "output": "y"}
        assert text_of(await client.ask(input=[output])) == "one"


async def test_faults_are_named_as_they_stand_in_the_frame(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        fault = [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "input_text", "text": 1}]}]
        path = "input[1].content[0].text"
        [frame] = await client.ask(input=fault, previous_response_id=first)
    assert error_of(frame) == (400, "invalid_type", path)
    assert path in frame["error"]["message"]


async def test_a_relayed_conversation_reaches_its_upstream_whole_and_stateless() -> None:
    """The ids are the upstream's own again, and it is asked for what lets it go on without having stored anything."""
    reply = [answer(reasoning("rs_1", "hm"), message("msg_1", "one")), answer(message("msg_2", "two"))]
    with ResponsesUpstream(*reply) as upstream, serving(settings_of(upstream)) as url:
        async with opened(url) as client:
            first = await client.id_of(input="Hello", store=True)
            events = await client.ask(input="And?", previous_response_id=first)
            judged(events)
            assert text_of(events) == "two"
            assert {event["response"]["previous_response_id"] for event in (events[0], events[-1])} == {first}
        bodies = [ask.body for ask in upstream.asks]
    assert [(body["store"], body["stream"], body["include"]) for body in bodies] == [
        (False, True, ["reasoning.encrypted_content"])
    ] * 2
    assert not {"previous_response_id", "type", "generate"} & (bodies[0].keys() | bodies[1].keys())
    assert [(item["type"], item.get("id")) for item in bodies[1]["input"]] == [
        ("message", None),
        ("reasoning", "rs_1"),
        ("message", "msg_1"),
        ("message", None),
    ]


async def test_half_a_character_in_a_relayed_answer_ends_nothing() -> None:
    """JSON can say half a character, UTF-8 cannot. On a websocket the conversation goes on behind it."""
    halves = answer(message("msg_1", "half \ud83d", "\ude00", "lone \ud83d"))
    with ResponsesUpstream(halves) as upstream, serving(settings_of(upstream)) as url:
        body = {"model": "any", "input": "Hello", "stream": True}
        async with httpx.AsyncClient() as client:
            events = events_of((await client.post(f"{url}/v1/responses", json=body)).content)
        assert events[-1]["response"]["output"][0]["content"][0]["text"] == "half \U0001f600lone \ud83d"
        async with opened(url) as socket:
            known = await socket.id_of(input="Hello")
            await socket.id_of(input="Go on", previous_response_id=known)
    assert upstream.asks[-1].body["input"][1]["content"][0]["text"] == "half \U0001f600lone \ufffd"


async def test_a_relayed_answer_that_breaks_off_is_forgotten() -> None:
    broken: Script = [*answer(message("msg_1", "Half a"))[:4], Cut()]
    with ResponsesUpstream(answer(message("msg_0", "one")), broken) as upstream, serving(settings_of(upstream)) as url:
        async with opened(url) as client:
            first = await client.id_of(input="Hello")
            [*_, last] = await client.ask(input="And?", previous_response_id=first)
            assert last["type"] == "response.failed"
            assert await client.refusal(input="x", previous_response_id=first) == NOT_FOUND


async def test_warnings_name_items_of_the_frame_and_of_the_history(websocket_server: WebsocketServer) -> None:
    old = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    async with opened(websocket_server.url) as client:
        warned = []
        known = None
        for given in (
            [{"role": "user", "content": "a"}],
            [{"role": "user", "content": "b"}, old, {"role": "user", "content": "c"}],
            "d",
        ):
            events = await client.ask(input=given, previous_response_id=known)
            known = events[-1]["response"]["id"]
            warned.append(events[0].get("x_am_warnings", []))
    left_out = "was left out: no message and no call follows this reasoning."
    assert warned == [[], [f"input[1] {left_out}"], [f"history[3] {left_out}"]]


async def test_an_output_without_a_call_is_named_as_it_stands_in_the_frame(websocket_server: WebsocketServer) -> None:
    async with opened(websocket_server.url) as client:
        first = await client.id_of(input="Hello")
        output = {"type": "function_call_output", "call_id": "call_x", "output": "y"}
        frame = [{"role": "user", "content": text} for text in ("a", "b", "c")]
        refused = await client.refusal(input=[*frame, output], previous_response_id=first)
    assert refused == (400, "invalid_value", "input[3].call_id")
