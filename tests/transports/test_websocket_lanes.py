"""Lanes of a websocket (`stream_id`): turns side by side on one connection, and what each remembers."""

import asyncio
from collections import defaultdict
from hashlib import sha256
from typing import Any

import pytest

from app.settings import Key, Settings
from app.transports.websocket_connection import NAMES, RUNNING
from tests.support.serving import serving
from tests.support.websocket_server import WebsocketServer, settings_of
from tests.wire.event_stream import judged
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import Cut, Hang, Latch, ResponsesUpstream, Script, Status
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import LAST, Client, error_of, opened, text_of

Json = dict[str, Any]
NOT_FOUND = "previous_response_not_found"


class Lanes:
    """Reads one connection, and sorts its events by lane."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._events: dict[str | None, list[Json]] = defaultdict(list)

    async def _next(self, lane: str | None) -> Json:
        while not self._events[lane]:
            event = await self.client.event()
            self._events[event.pop("stream_id", None)].append(event)
        return self._events[lane].pop(0)

    async def until(self, lane: str | None, kinds: set[str]) -> list[Json]:
        """The events of this lane up to one of these types."""
        events = [await self._next(lane)]
        while events[-1]["type"] not in kinds:
            events.append(await self._next(lane))
        return events

    async def answer(self, lane: str | None) -> list[Json]:
        """A whole answer, or the error frame alone."""
        return await self.until(lane, LAST)

    async def ask(self, lane: str | None, **body: Any) -> list[Json]:
        """One whole turn."""
        await self.client.send(stream_id=lane, **body)
        return await self.answer(lane)

    async def id_of(self, lane: str | None, **body: Any) -> str:
        """The id of a turn that succeeds."""
        last = (await self.ask(lane, **body))[-1]
        assert last["type"] == "response.completed", last
        return str(last["response"]["id"])

    async def refusal(self, lane: str | None, **body: Any) -> str:
        """The code of a turn that is refused."""
        [frame] = await self.ask(lane, **body)
        return error_of(frame)[1]


async def test_lanes_answer_side_by_side_and_each_event_names_its_lane(websocket_server: WebsocketServer) -> None:
    gates = {text: Latch() for text in ("a", "b", "c")}
    websocket_server.upstream.scripts = (
        lambda ask: [opens(), says(text := ask.body["messages"][-1]["content"]), gates[text], stops()],
    )
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        for lane, text in (("one", "a"), ("two.x_y-Z9", "b"), (None, "c")):
            await client.send(input=text, stream_id=lane)
        first = {lane: await lanes.until(lane, {"response.output_text.delta"}) for lane in ("one", "two.x_y-Z9", None)}
        for lane, text in ((None, "c"), ("two.x_y-Z9", "b"), ("one", "a")):  # the last one ends first
            gates[text].open()
            events = first[lane] + await lanes.answer(lane)
            judged(events)
            assert text_of(events) == text
            assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_a_lane_answers_its_frames_in_their_order(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.upstream.scripts = (
        lambda ask: [opens(), says(ask.body["messages"][-1]["content"]), gate, stops()],
    )
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        for text in ("a", "b"):
            await client.send(input=text, stream_id="one")
        await client.send(input="c", stream_id="two")
        await lanes.until("one", {"response.output_text.delta"})
        await lanes.until("two", {"response.output_text.delta"})
        assert sorted(ask.body["messages"][-1]["content"] for ask in websocket_server.upstream.asks) == ["a", "c"]
        gate.open()
        for lane in ("one", "two", "one"):
            assert (await lanes.answer(lane))[-1]["type"] == "response.completed"
    assert websocket_server.upstream.asks[-1].body["messages"][-1]["content"] == "b"


async def test_a_conversation_forks_into_another_lane_and_both_go_on(websocket_server: WebsocketServer) -> None:
    websocket_server.upstream.scripts = (lambda ask: text_turn(str(len(ask.body["messages"]))),)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        planned = await lanes.id_of("planner", input="A plan")
        await client.send(input="Its gaps", previous_response_id=planned, stream_id="critic")
        await lanes.until("critic", {"response.in_progress"})
        await client.send(input="Its steps", previous_response_id=planned, stream_id="planner")
        answers = {lane: await lanes.answer(lane) for lane in ("critic", "planner")}
        assert [text_of([*events]) for events in answers.values()] == ["3", "3"]
        for lane, events in answers.items():
            assert text_of(await lanes.ask(lane, input="x", previous_response_id=events[-1]["response"]["id"])) == "5"
        assert await lanes.refusal("planner", input="x", previous_response_id=planned) == NOT_FOUND
        assert text_of(await lanes.ask("planner", input="Without a history")) == "1"


async def test_a_response_can_be_forked_as_soon_as_its_last_event_is_there(websocket_server: WebsocketServer) -> None:
    websocket_server.upstream.scripts = (text_turn("one"),)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        for number in range(10):
            known = await lanes.id_of("main", input="x" * 200_000)
            assert text_of(await lanes.ask(f"fork-{number}", input="y", previous_response_id=known)) == "one"


@pytest.mark.parametrize("script", [[Status(500)], [opens(), says("Half a"), Cut()]], ids=["refused", "broken off"])
async def test_a_fork_that_fails_leaves_its_source_and_a_continuation_does_not(
    websocket_server: WebsocketServer, script: Script
) -> None:
    websocket_server.set_scripts(text_turn("one"), script)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        known = await lanes.id_of("main", input="Hello")
        for lane in ("fork", None):
            [*_, last] = await lanes.ask(lane, input="x", previous_response_id=known)
            assert last["type"] in {"error", "response.failed"}
        websocket_server.set_scripts(text_turn("two"), script)
        assert text_of(await lanes.ask("other", input="x", previous_response_id=known)) == "two"
        await lanes.ask("main", input="x", previous_response_id=known)
        assert await lanes.refusal("main", input="x", previous_response_id=known) == NOT_FOUND


@pytest.mark.parametrize("name", ["", "x" * 257, "a b", "a/b", "ä", "a\n", 'a"', 1, ["a"], True, {}])
async def test_what_is_no_name_of_a_lane_is_refused_at_once(websocket_server: WebsocketServer, name: object) -> None:
    gate = Latch()
    websocket_server.set_scripts([opens(), says("one"), gate, stops()])
    async with opened(websocket_server.url) as client:
        await client.send(input="Hello")
        first = await client.beginning()
        await client.send(input="x", stream_id=name)
        assert error_of(await client.event()) == (400, "invalid_stream_id", "stream_id")
        gate.open()
        judged(first + await client.answer())


async def test_a_connection_has_so_many_names_and_the_default_lane_besides(websocket_server: WebsocketServer) -> None:
    websocket_server.upstream.scripts = (text_turn("one"),)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        names = [f"lane_{number}" for number in range(NAMES)]
        for name in names:
            await lanes.id_of(name, input="x")
        await client.send(input="x", stream_id="one-too-many")
        refused = await client.event()
        assert refused.pop("stream_id") == "one-too-many"
        assert error_of(refused) == (400, "websocket_stream_limit_reached", "stream_id")
        for lane in (None, names[0], names[-1]):
            assert text_of(await lanes.ask(lane, input="x")) == "one"


async def test_a_connection_runs_so_many_turns_at_once_and_the_others_wait(websocket_server: WebsocketServer) -> None:
    gate = Latch()
    websocket_server.upstream.scripts = ([opens(), says("one"), gate, stops()],)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        names = [f"lane_{number}" for number in range(RUNNING + 3)]
        for name in names:
            await client.send(input="x", stream_id=name)
        for name in names[:RUNNING]:
            await lanes.until(name, {"response.output_text.delta"})
        await asyncio.sleep(0.1)
        assert len(websocket_server.upstream.asks) == RUNNING
        gate.open()
        for name in names:
            assert (await lanes.answer(name))[-1]["type"] == "response.completed"
    assert len(websocket_server.upstream.asks) == len(names)


async def test_each_turn_of_a_lane_takes_a_slot_of_its_caller(websocket_server: WebsocketServer) -> None:
    keys = tuple(Key(name, sha256(name.encode()).digest(), concurrency=2) for name in ("alice", "bob"))
    gate = Latch()
    websocket_server.upstream.scripts = ([opens(), says("one"), gate, stops()],)
    settings = settings_of(websocket_server.upstream)
    with serving(Settings(keys=keys, upstreams=settings.upstreams, models=settings.models)) as url:
        alice, bob = ({"Authorization": f"Bearer {name}"} for name in ("alice", "bob"))
        async with opened(url, alice) as client, opened(url, bob) as other:
            lanes, his = Lanes(client), Lanes(other)
            for name in ("a", "b"):
                await client.send(input="x", stream_id=name)
                await lanes.until(name, {"response.output_text.delta"})
            assert await lanes.refusal("c", input="x") == "rate_limit_exceeded"
            await other.send(input="x", stream_id="a")
            await his.until("a", {"response.output_text.delta"})
            gate.open()
            for name in ("a", "b"):
                await lanes.answer(name)
            assert (await lanes.ask("c", input="x"))[-1]["type"] == "response.completed"
            assert (await his.answer("a"))[-1]["type"] == "response.completed"


async def test_a_client_that_leaves_ends_every_lane(websocket_server: WebsocketServer) -> None:
    websocket_server.upstream.scripts = ([opens(), says("one"), Hang()],)
    async with opened(websocket_server.url) as client:
        lanes = Lanes(client)
        for name in ("a", "b", None):
            await client.send(input="x", stream_id=name)
            await lanes.until(name, {"response.output_text.delta"})
        client.connection.transport.abort()
    for ask in websocket_server.upstream.asks:
        assert await asyncio.to_thread(ask.wait_gone)


@pytest.mark.parametrize(("lane", "expected"), [(None, set[str]()), ("main", {"main"})])
async def test_the_lane_of_a_relayed_event_is_the_clients(lane: str | None, expected: set[str]) -> None:
    """An upstream that names lanes of its own cannot put its events into another lane."""
    reply = [{**event, "stream_id": "theirs"} for event in answer(message("msg_1", "one"))]
    with ResponsesUpstream(reply) as upstream, serving(settings_of(upstream)) as url:
        async with opened(url) as client:
            await client.send(input="Hello", stream_id=lane)
            events = await client.answer()
    assert {event["stream_id"] for event in events if "stream_id" in event} == expected
    assert all("stream_id" in event for event in events) is (lane is not None)
    assert text_of(events) == "one"
