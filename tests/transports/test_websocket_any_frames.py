"""Any frames in any order, and ten thousand of a kind: every response ends once, slots come back, others are served."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from app.settings import Key, Settings
from app.transports.websocket_guard import POLICY
from tests.support.serving import serving
from tests.support.websocket_server import settings_of
from tests.wire.script import call_turn, opens, says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Cut, Hang, Pause, Status
from tests.wire.sockets import Client, opened

Json = dict[str, Any]
LANES: Final = ("a", "b", "c")
CLIENT_STILL_SENT: Final = 1006
"""What a client sees of the end whose last bytes nobody reads any more."""
LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
WEATHER: Json = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
HEADERS: Final = {"Authorization": "Bearer sk-alice"}
SCRIPTS: Final[dict[str, list[Any]]] = {
    "text": text_turn("Hi"),
    "slow": [opens(), thinks("hm"), Pause(0.02), says("Old"), Pause(0.02), says("er"), stops()],
    "call": call_turn("weather", "{}"),
    "refused": [Status(500)],
    "cut": [opens(), says("Half a"), Pause(0.01), Cut()],
}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, ChatUpstream]]:
    """A server whose upstream answers as the last word of the user says, and whose caller has a slot for each lane."""
    with ChatUpstream(lambda ask: SCRIPTS.get(last_word(ask.body), SCRIPTS["text"])) as upstream:
        configured = settings_of(upstream)
        keys = (Key("alice", sha256(b"sk-alice").digest(), concurrency=len(LANES)), Key("bob", sha256(b"bob").digest()))
        with serving(Settings(keys=keys, upstreams=configured.upstreams, models=configured.models)) as url:
            yield url, upstream


def last_word(body: Json) -> str:
    return str(next(entry["content"] for entry in reversed(body["messages"]) if entry["role"] == "user"))


class Reading:
    """Sorts the events of one connection, and checks them as they come."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ids: list[str] = ["resp_unknown"]
        self.running: dict[str, str] = {}
        self.ended: dict[str, int] = defaultdict(int)
        self.steers: dict[str, str] = {}
        """Accepted input that is not used or given back yet, and the response that it steers."""

    async def read(self) -> Json:
        event = await self.client.event()
        kind, lane = event["type"], event.get("stream_id", "")
        if kind == "response.created":
            assert lane in LANES
            assert lane not in self.running, "a lane runs one response after the other"
            self.running[lane] = event["response"]["id"]
            self.ids.append(self.running[lane])
            continued = event["response"]["previous_response_id"]
            self.steers = {steer: of for steer, of in self.steers.items() if of != continued}
        elif kind in LAST:
            assert self.running.pop(lane) == event["response"]["id"]
            self.ended[event["response"]["id"]] += 1
        elif kind == "response.steer.accepted":
            self.steers[event["steer"]["id"]] = event["steer"]["previous_response_id"]
        elif kind in {"response.steer.failed", "response.steer.pending"}:
            self.steers.pop(event["steer"].get("id", ""), None)
        return event


CHOICES: Final = st.tuples(st.integers(0, 99), st.sampled_from(LANES), st.sampled_from([*SCRIPTS]))
ACTIONS: Final = st.one_of(
    st.tuples(st.just("create"), CHOICES),
    st.tuples(st.just("continue"), CHOICES),
    st.tuples(st.just("steer"), CHOICES),
    st.tuples(st.just("interrupt"), CHOICES),
    st.tuples(st.just("cancel"), CHOICES),
    st.tuples(st.just("other"), CHOICES),
    st.tuples(st.just("read"), CHOICES),
    st.tuples(st.just("wait"), CHOICES),
    st.tuples(st.just("speak into"), CHOICES),
    st.tuples(st.just("speak into"), CHOICES),
)


async def act(action: str, at: int, lane: str, word: str, reading: Reading) -> None:
    client, ids = reading.client, reading.ids
    named = ids[-1 - at % len(ids)]
    match action:
        case "create":
            await client.send(input=word, stream_id=lane, tools=[WEATHER])
        case "continue":
            await client.send(input=word, stream_id=lane, tools=[WEATHER], previous_response_id=named)
        case "steer":
            frame = {"type": "response.steer", "previous_response_id": named, "input": word}
            await client.connection.send(json.dumps(frame))
        case "interrupt" | "cancel":
            frame = {"type": f"response.{action}", "response_id": named}
            await client.connection.send(json.dumps(frame))
        case "speak into":
            await speak_into(at, lane, word, reading)
        case "other":
            others = ["no JSON", "[]", "{}", '{"type": "response.inject"}', '{"type": "x"}', "\u2028", '{"type": 7}']
            await client.connection.send(others[at % len(others)])
        case "read":
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    for _ in range(at % 12):
                        await reading.read()
        case _:
            await asyncio.sleep(at / 2000)


async def speak_into(at: int, lane: str, word: str, reading: Reading) -> None:
    """A new response and, if it begins soon, some of these frames, in this order."""
    known = len(reading.ids)
    await reading.client.send(input="slow" if at % 3 else word, stream_id=lane, tools=[WEATHER])
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            while len(reading.ids) == known:
                await reading.read()
    for bit, action in enumerate(("steer", "wait", "steer", "interrupt", "cancel")):
        if at >> bit & 1:
            await act(action, 0, lane, word, reading)


async def play(url: str, actions: list[tuple[str, tuple[int, str, str]]]) -> None:
    async with opened(url, HEADERS) as client:
        reading = Reading(client)
        async with asyncio.timeout(20):
            for action, (at, lane, word) in actions:
                await act(action, at, lane, word, reading)
            for lane in LANES:
                await client.send(input="text", stream_id=lane, metadata={"fence": "yes"})
            fences = set(LANES)
            while fences:
                event = await reading.read()
                if event["type"] in LAST and event["response"]["metadata"]:
                    assert event["type"] == "response.completed"
                    fences.discard(event["stream_id"])
        assert not reading.running
        assert set(reading.ended.values()) <= {1}
        assert not reading.steers, "input that was accepted is used, waits for outputs, or is given back"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=25))
def test_every_response_ends_once_and_every_slot_comes_back(
    server: tuple[str, ChatUpstream], actions: list[tuple[str, tuple[int, str, str]]]
) -> None:
    """The frames at the end find a slot for every lane at once: none is left of what was before."""
    asyncio.run(play(server[0], actions))


KINDS: Final[dict[str, Json]] = {
    "steer": {"type": "response.steer", "previous_response_id": "RUNNING", "input": "x"},
    "invalid steer": {"type": "response.steer", "previous_response_id": "RUNNING", "input": 7},
    "interrupt": {"type": "response.interrupt", "response_id": "resp_x", "mode": "discard_partial_items"},
    "cancel": {"type": "response.cancel", "response_id": "resp_x"},
    "inject": {"type": "response.inject", "response_id": "RUNNING", "input": []},
    "unknown": {"type": "response.unheard_of"},
    "create": {"type": "response.create", "model": "any", "input": "x", "stream_id": "main"},
    "create in other lanes": {"type": "response.create", "model": "any", "input": "x", "stream_id": "NEW"},
}


@pytest.mark.parametrize("length", [0, 2000], ids=["short", "long"])
@pytest.mark.parametrize("kind", KINDS)
async def test_ten_thousand_frames_cost_their_sender_the_connection_and_nobody_else_a_thing(
    server: tuple[str, ChatUpstream], kind: str, length: int
) -> None:
    url, upstream = server
    SCRIPTS["hang"] = [opens(), says("one"), Hang()]
    async with opened(url, HEADERS) as client, opened(url, {"Authorization": "Bearer bob"}) as other:
        await client.send(input="hang", stream_id="main")
        created = await client.event()
        ask = upstream.asks[-1] if upstream.asks else None
        frame = json.dumps(KINDS[kind] | {"padding": "x" * length}).replace("RUNNING", created["response"]["id"])

        async def flood() -> None:
            with suppress(ConnectionClosed):
                for number in range(10_000):
                    await client.connection.send(frame.replace('"NEW"', f'"lane_{number}"'))

        async def drain() -> int:
            with suppress(ConnectionClosed):
                while True:
                    await client.connection.recv()
            return client.connection.close_code or 0

        flooding, draining = asyncio.create_task(flood()), asyncio.create_task(drain())
        slowest = 0.0
        for _ in range(5):
            began = time.monotonic()
            assert (await other.ask(input="text"))[-1]["type"] == "response.completed"
            slowest = max(slowest, time.monotonic() - began)
        await asyncio.wait_for(flooding, 30)
        assert await asyncio.wait_for(draining, 10) in {POLICY, CLIENT_STILL_SENT}
        assert slowest < 3
    assert ask is None or await asyncio.to_thread(ask.wait_gone)
