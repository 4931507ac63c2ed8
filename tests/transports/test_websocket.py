"""Turns over a websocket: the same events, one turn after the other, and nothing but its own last response known."""

import asyncio
from collections.abc import Iterator
from typing import Literal

import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.acceptance.frames import judged
from tests.script import call_turn, opens, says, stops, talk, thinks, turn
from tests.serving import serving
from tests.sockets import opened, text_of, told
from tests.upstream import ChatUpstream, Cut, Gate, ResponsesUpstream, Script, Status
from tests.upstream.responses import answer, message, reasoning

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")
WEATHER = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}


def behind(upstream: ChatUpstream | ResponsesUpstream, **server: object) -> Settings:
    """A server before this upstream, which has a model of any name."""
    via: Literal["responses", "chat"] = "responses" if isinstance(upstream, ResponsesUpstream) else "chat"
    return Settings(
        server=Server(**server),  # type: ignore[arg-type] # the fields of the table
        upstreams={"scripted": Upstream(via=via, base_url=upstream.url)},
        models={"*": Model(upstream="scripted")},
    )


class Stage:
    """A server and its scripted upstream."""

    def __init__(self, url: str, upstream: ChatUpstream) -> None:
        self.url = url
        self.upstream = upstream

    def say(self, *scripts: Script) -> None:
        """What the upstream says from now on, ask by ask."""
        self.upstream.scripts = scripts
        self.upstream.asks.clear()

    def messages(self) -> list[tuple[str, str]]:
        """Role and content of each message of the last ask."""
        return [(told["role"], told["content"]) for told in self.upstream.asks[-1].body["messages"]]


@pytest.fixture(scope="module")
def whole_stage() -> Iterator[Stage]:
    with ChatUpstream() as upstream, serving(behind(upstream, keep_alive=0.2)) as url:
        yield Stage(url, upstream)


@pytest.fixture
def stage(whole_stage: Stage) -> Stage:
    whole_stage.say(talk("one"), talk("two"), talk("three"))
    return whole_stage


async def test_every_answer_obeys_the_grammar_of_streams_and_counts_from_nought(stage: Stage) -> None:
    stage.say(turn(thinks("hm"), says("Hi")), call_turn("weather", "{}"))
    async with opened(stage.url) as client:
        first = await client.ask(input="Hello", tools=[WEATHER])
        second = await client.ask(input="And?", tools=[WEATHER])
    assert [piece[0] for piece in judged(first).pieces + judged(second).pieces] == ["thought", "text", "call"]
    assert [events[0]["sequence_number"] for events in (first, second)] == [0, 0]


@pytest.mark.parametrize("path", ["/v1/responses", "/responses", "/v1/responses/", "/v1/responses?x=1"])
async def test_it_is_found_where_the_post_is(stage: Stage, path: str) -> None:
    async with opened(stage.url, path=path) as client:
        assert text_of(await client.ask(input="Hello")) == "one"


async def test_a_continuation_needs_only_what_is_new(stage: Stage) -> None:
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        second = await client.id_of(input=[{"role": "user", "content": "And?"}], previous_response_id=first)
        events = await client.ask(input="So?", previous_response_id=second)
    judged(events)
    assert text_of(events) == "three"
    echoed = [event["response"]["previous_response_id"] for event in events if "response" in event]
    assert set(echoed) == {second}
    assert stage.messages() == [
        ("user", "Hello"),
        ("assistant", "one"),
        ("user", "And?"),
        ("assistant", "two"),
        ("user", "So?"),
    ]


async def test_a_tool_loop_sends_only_outputs(stage: Stage) -> None:
    stage.say(call_turn("weather", '{"city":"Paris"}'), talk("21 degrees"))
    async with opened(stage.url) as client:
        [*_, last] = await client.ask(input="Weather?", tools=[WEATHER])
        [call] = last["response"]["output"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "21"}
        events = await client.ask(input=[output], previous_response_id=last["response"]["id"], tools=[WEATHER])
    assert text_of(events) == "21 degrees"
    _, made, given = stage.upstream.asks[-1].body["messages"]
    assert made["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city":"Paris"}'}
    assert given == {"role": "tool", "tool_call_id": call["call_id"], "content": "21"}


async def test_what_the_model_thought_comes_back_to_it(stage: Stage) -> None:
    """Nobody asked for it to be sealed: the connection does, since it is all that remembers it."""
    stage.say(turn(thinks("I need it."), *call_turn("weather", "{}")[:-1], reason="tool_calls"), talk("21 degrees"))
    async with opened(stage.url) as client:
        [*_, last] = await client.ask(input="Weather?", tools=[WEATHER])
        _, call = last["response"]["output"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "21"}
        await client.ask(input=[output], previous_response_id=last["response"]["id"], tools=[WEATHER])
    assert stage.upstream.asks[-1].body["messages"][1]["reasoning_content"] == "I need it."


async def test_instructions_are_said_anew_each_time(stage: Stage) -> None:
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello", instructions="Be brief.")
        await client.ask(input="And?", previous_response_id=first)
    assert stage.messages() == [("user", "Hello"), ("assistant", "one"), ("user", "And?")]


async def test_only_the_last_response_is_known(stage: Stage) -> None:
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        assert await client.refusal(input="x", previous_response_id="resp_unheard_of") == NOT_FOUND
        second = await client.id_of(input="And?", previous_response_id=first)
        assert await client.refusal(input="x", previous_response_id=first) == NOT_FOUND
        assert text_of(await client.ask(input="So?", previous_response_id=second)) == "three"


async def test_another_connection_knows_nothing_of_it(stage: Stage) -> None:
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        async with opened(stage.url) as other:
            assert await other.refusal(input="x", previous_response_id=first) == NOT_FOUND
            assert text_of(await other.ask(input="From the start")) == "two"
        assert text_of(await client.ask(input="And?", previous_response_id=first)) == "three"
    assert stage.messages() == [("user", "Hello"), ("assistant", "one"), ("user", "And?")]


@pytest.mark.parametrize(
    ("fails", "script"),
    [
        ({"input": [{"type": "function_call_output", "call_id": "call_x", "output": "y"}]}, talk("unsaid")),
        ({"input": [{"role": "nobody", "content": "x"}]}, talk("unsaid")),
        ({"input": "x", "background": True}, talk("unsaid")),
        ({"input": "x"}, [Status(500)]),
        ({"input": "x"}, [opens(), says("Half a"), Cut()]),
    ],
    ids=["an output without a call", "no request", "not here", "the upstream refuses", "the upstream breaks off"],
)
async def test_a_continuation_that_fails_forgets_what_it_continued(
    stage: Stage, fails: dict[str, object], script: Script
) -> None:
    stage.say(talk("one"), script)
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        last = (await client.ask(**fails, previous_response_id=first))[-1]
        assert last["type"] in {"error", "response.failed"}
        assert await client.refusal(input="x", previous_response_id=first) == NOT_FOUND
        stage.say(talk("anew"))
        assert text_of(await client.ask(input="From the start")) == "anew"


async def test_a_turn_that_continues_nothing_may_fail_without_harm(stage: Stage) -> None:
    stage.say(talk("one"), [Status(500)], talk("three"))
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        assert await client.refusal(input="x") == (502, "upstream_error", "")
        assert text_of(await client.ask(input="And?", previous_response_id=first)) == "three"


async def test_an_answer_that_hit_its_limit_can_be_continued(stage: Stage) -> None:
    stage.say(turn(says("Half a"), reason="length"), talk("sentence."))
    async with opened(stage.url) as client:
        [*_, last] = await client.ask(input="Hello")
        assert last["type"] == "response.incomplete"
        assert text_of(await client.ask(input="Go on", previous_response_id=last["response"]["id"])) == "sentence."


async def test_a_history_without_its_start_is_mended_where_nothing_is_continued(stage: Stage) -> None:
    async with opened(stage.url) as client:
        output = {"type": "function_call_output", "call_id": "call_x", "output": "y"}
        assert text_of(await client.ask(input=[output])) == "one"


async def test_faults_are_named_as_they_stand_in_the_frame(stage: Stage) -> None:
    async with opened(stage.url) as client:
        first = await client.id_of(input="Hello")
        fault = [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "input_text", "text": 1}]}]
        path = "input[1].content[0].text"
        [frame] = await client.ask(input=fault, previous_response_id=first)
    assert told(frame) == (400, "invalid_type", path)
    assert path in frame["error"]["message"]


async def test_frames_that_come_together_are_answered_in_their_order(stage: Stage) -> None:
    gate = Gate()
    stage.say([opens(), says("one"), gate, stops()], talk("two"), talk("three"))
    async with opened(stage.url) as client:
        for text in ("a", "b", "c"):
            await client.send(input=text)
        first = await client.beginning()
        assert len(stage.upstream.asks) == 1
        gate.open()
        answers = [first + await client.answer(), await client.answer(), await client.answer()]
    assert [text_of(events) for events in answers] == ["one", "two", "three"]
    assert [ask.body["messages"][-1]["content"] for ask in stage.upstream.asks] == ["a", "b", "c"]
    for events in answers:
        judged(events)


async def test_a_frame_may_continue_the_answer_it_does_not_wait_for(stage: Stage) -> None:
    """Its id is told by the first event, long before the last."""
    gate = Gate()
    stage.say([opens(), says("one"), gate, stops()], talk("two"))
    async with opened(stage.url) as client:
        await client.send(input="a")
        created = await client.event()
        await client.send(input="b", previous_response_id=created["response"]["id"])
        gate.open()
        answers = [await client.answer(), await client.answer()]
    assert [text_of(events) for events in answers] == ["one", "two"]
    assert stage.messages() == [("user", "a"), ("assistant", "one"), ("user", "b")]


async def test_two_conversations_at_once_never_mix(stage: Stage) -> None:
    stage.upstream.scripts = (lambda ask: talk(f"You said {ask.body['messages'][-1]['content']}."),)
    async with opened(stage.url) as one, opened(stage.url) as other:
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
    for ask in stage.upstream.asks[-2:]:
        said = [told["content"] for told in ask.body["messages"] if told["role"] == "user"]
        name = said[0].split()[0]
        assert said == [f"{name} {number}" for number in range(10)]


async def test_a_warm_up_asks_nothing_and_is_remembered(stage: Stage) -> None:
    async with opened(stage.url) as client:
        events = await client.ask(input=[{"role": "developer", "content": "Be brief."}], generate=False)
        judged(events)
        response = events[-1]["response"]
        assert (response["status"], response["output"], response["usage"]["total_tokens"]) == ("completed", [], 0)
        assert stage.upstream.asks == []
        assert text_of(await client.ask(input="Hello", previous_response_id=response["id"])) == "one"
    assert [content for _, content in stage.messages()] == ["Be brief.", "Hello"]


async def test_a_warm_up_of_what_cannot_be_asked_is_refused(stage: Stage) -> None:
    async with opened(stage.url) as client:
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
        ({"stream_id": "main"}, "unsupported_parameter", "stream_id"),
        ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
        ({"generate": "no"}, "invalid_type", "generate"),
        ({"previous_response_id": 1}, "invalid_type", "previous_response_id"),
        ({"include": "all"}, "invalid_type", "include"),
        ({"type": "response.cancel"}, "invalid_value", "type"),
        ({"type": None}, "missing_required_parameter", "type"),
        ({"model": None}, "missing_required_parameter", "model"),
        ({"input": None}, "missing_required_parameter", "input"),
    ],
)
async def test_what_cannot_be_said_over_a_websocket(
    stage: Stage, body: dict[str, object], code: str, param: str
) -> None:
    async with opened(stage.url) as client:
        assert await client.refusal(**{"input": "x"} | body) == (400, code, param)
        assert text_of(await client.ask(input="Hello")) == "one"
    assert len(stage.upstream.asks) == 1


@pytest.mark.parametrize(
    ("frame", "code"),
    [("rubbish", "invalid_json"), ("[]", "invalid_type"), ("", "invalid_json"), (b"\xff\x00", "invalid_json")],
)
async def test_what_is_no_json_object_is_refused(stage: Stage, frame: str | bytes, code: str) -> None:
    async with opened(stage.url) as client:
        await client.connection.send(frame)
        assert told(await client.event())[:2] == (400, code)
        assert text_of(await client.ask(input="Hello")) == "one"


async def test_those_who_speak_the_form_before_the_release_may_say_stream(stage: Stage) -> None:
    """As Codex does in every frame."""
    async with opened(stage.url, {"OpenAI-Beta": "responses_websockets=2026-02-06"}) as client:
        assert text_of(await client.ask(input="Hello", stream=True, stream_options={"x": 1})) == "one"
        assert await client.refusal(input="x", background=True) == (400, "unsupported_parameter", "background")


async def test_line_ends_that_clients_split_at_are_escaped(stage: Stage) -> None:
    stage.say(talk("a\u2028b\u2029c\u0085d"))
    async with opened(stage.url) as client:
        await client.send(input="Hello")
        frames: list[str] = []
        while not frames or "response.completed" not in frames[-1]:
            frames.append(str(await client.connection.recv()))
    assert [len(frame.splitlines()) for frame in frames] == [1] * len(frames)
    assert "a\\u2028b\\u2029c\\u0085d" in frames[-1]


async def test_a_silent_upstream_is_covered_by_signs_of_life(stage: Stage) -> None:
    gate = Gate()
    stage.say([opens(), says("Hi"), gate, stops()])
    async with opened(stage.url) as client:
        await client.send(input="Hello")
        events: list[dict[str, object]] = []
        while not any(event.get("delta") == "" for event in events):
            events.append(await client.event())
        gate.open()
        judged(events + await client.answer())


async def test_a_ping_is_answered_in_the_middle_of_a_turn(stage: Stage) -> None:
    gate = Gate()
    stage.say([opens(), says("Hi"), gate, stops()])
    async with opened(stage.url) as client:
        await client.send(input="Hello")
        first = await client.beginning()
        waiting = await client.connection.ping()
        await asyncio.wait_for(waiting, 5)
        gate.open()
        judged(first + await client.answer())


async def test_a_relayed_conversation_reaches_its_upstream_whole_and_stateless() -> None:
    """The ids are the upstream's own again, and it is asked for what lets it go on without having stored anything."""
    said = [answer(reasoning("rs_1", "hm"), message("msg_1", "one")), answer(message("msg_2", "two"))]
    with ResponsesUpstream(*said) as upstream, serving(behind(upstream)) as url:
        async with opened(url) as client:
            first = await client.id_of(input="Hello", store=True)
            events = await client.ask(input="And?", previous_response_id=first)
            judged(events)
            assert text_of(events) == "two"
            assert {told["response"]["previous_response_id"] for told in (events[0], events[-1])} == {first}
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


async def test_a_relayed_answer_that_breaks_off_is_forgotten() -> None:
    broken: Script = [*answer(message("msg_1", "Half a"))[:4], Cut()]
    with ResponsesUpstream(answer(message("msg_0", "one")), broken) as upstream, serving(behind(upstream)) as url:
        async with opened(url) as client:
            first = await client.id_of(input="Hello")
            [*_, last] = await client.ask(input="And?", previous_response_id=first)
            assert last["type"] == "response.failed"
            assert await client.refusal(input="x", previous_response_id=first) == NOT_FOUND
