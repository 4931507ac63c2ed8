"""Any frames in any order: every response ends once, and its slot comes back."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http.websocket_server import settings_of
from tests.wire.configuration import Key
from tests.wire.program import serving
from tests.wire.script import call_turn, opens, says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Cut, Pause, Status
from tests.wire.sockets import Client, opened

Json = dict[str, Any]
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
def url() -> Iterator[str]:
    """A server whose upstream answers as the last word of the user says, and whose caller has one slot."""
    with (
        ChatUpstream(lambda ask: SCRIPTS[last_word(ask.body)]) as upstream,
        serving(settings_of(upstream, keys=[Key(name="alice", value="sk-alice", concurrency=1)])) as address,
    ):
        yield address


def last_word(body: Json) -> str:
    return str(next(entry["content"] for entry in reversed(body["messages"]) if entry["role"] == "user"))


class Reading:
    """Reads the events of one connection, and checks them as they come."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ids: list[str] = ["resp_unknown"]
        self.running = ""
        self.ended = Counter[str]()

    async def read(self) -> Json:
        event = await self.client.event()
        if event["type"] == "response.created":
            assert not self.running, "one response runs after the other"
            self.running = event["response"]["id"]
            self.ids.append(self.running)
        elif event["type"] in LAST:
            assert event["response"]["id"] == self.running
            self.running = ""
            self.ended[event["response"]["id"]] += 1
        return event


CHOICES: Final = st.tuples(st.integers(0, 99), st.sampled_from([*SCRIPTS]))
ACTIONS: Final = st.tuples(
    st.sampled_from(["create", "continue", "interrupt", "cancel", "other", "read", "wait", "speak into", "speak into"]),
    CHOICES,
)


async def act(action: str, at: int, word: str, reading: Reading) -> None:
    client, ids = reading.client, reading.ids
    named = ids[-1 - at % len(ids)]
    match action:
        case "create":
            await client.send(input=word, tools=[WEATHER])
        case "continue":
            await client.send(input=word, tools=[WEATHER], previous_response_id=named)
        case "interrupt" | "cancel":
            frame = {"type": f"response.{action}", "response_id": named}
            await client.connection.send(json.dumps(frame))
        case "speak into":
            await speak_into(at, word, reading)
        case "other":
            others = ["no JSON", "[]", "{}", '{"type": "x"}', "\u2028", '{"type": 7}']
            await client.connection.send(others[at % len(others)])
        case "read":
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    for _ in range(at % 12):
                        await reading.read()
        case _:
            await asyncio.sleep(at / 2000)


async def speak_into(at: int, word: str, reading: Reading) -> None:
    """A new response and, if it begins soon, some of these frames, in this order."""
    known = len(reading.ids)
    await reading.client.send(input="slow" if at % 3 else word, tools=[WEATHER])
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            while len(reading.ids) == known:
                await reading.read()
    for bit, action in enumerate(("wait", "interrupt", "cancel")):
        if at >> bit & 1:
            await act(action, 0, word, reading)


async def play(url: str, actions: list[tuple[str, tuple[int, str]]]) -> None:
    async with opened(url, HEADERS) as client:
        reading = Reading(client)
        for action, (at, word) in actions:
            await act(action, at, word, reading)
        await client.send(input="text", metadata={"fence": "yes"})
        event = await reading.read()
        while event["type"] not in LAST or not event["response"]["metadata"]:
            event = await reading.read()
        assert event["type"] == "response.completed"
        assert not reading.running
        assert set(reading.ended.values()) == {1}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=25))
def test_every_response_ends_once_and_its_slot_comes_back(url: str, actions: list[tuple[str, tuple[int, str]]]) -> None:
    """The frame at the end finds a slot: none is left of what was before."""
    asyncio.run(play(url, actions))
