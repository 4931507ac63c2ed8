"""The soak's clients: each knows from its scenario's number what it must be told, and says what it was told."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidMessage

from tests.chaos.scenarios import HARMLESS, Scenario, join_surrogates, scenario_of
from tests.wire.grammar import check

LANES: Final = ("chat", "litellm", "responses", "messages")
KEY: Final = "soak-key"
HEADERS: Final = {"authorization": f"Bearer {KEY}"}
WEBSOCKETS: Final = 7
"""One client in so many uses a websocket."""
LAST: Final = frozenset({"response.completed", "response.failed", "response.incomplete", "error"})
BROKEN: Final = (aiohttp.ClientError, ConnectionClosed, InvalidMessage, OSError)
RECENT: Final = 3.0
"""Seconds after a worker was killed in which a connection to it may still be refused."""


@dataclass
class Tally:
    """What was seen."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By lane, and by how a stream ended."""
    wrong: list[str] = field(default_factory=list)
    started: int = 0
    at_once: int = 0
    deltas: int = 0
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """Seconds, bytes of memory, descriptors."""
    killed: list[float] = field(default_factory=list)
    """When a worker was."""

    def was_killed_since(self, began: float) -> bool:
        """Whether a worker was killed then, or shortly before."""
        return bool(self.killed) and self.killed[-1] > began - RECENT


class Client:
    """Asks for one stream after the other, until it is time."""

    def __init__(self, url: str, session: aiohttp.ClientSession, tally: Tally) -> None:
        self._session = session
        self._tally = tally
        self._url = url

    async def run(self, number: int, step: int, deadline: float) -> None:
        """With every `step`-th scenario from this number on."""
        while time.monotonic() < deadline:
            self._tally.started += 1
            self._tally.at_once += 1
            await self._one_stream(LANES[number % len(LANES)], scenario_of(number))
            self._tally.at_once -= 1
            number += step

    async def _one_stream(self, lane: str, scenario: Scenario) -> None:
        began = time.monotonic()
        name, outcome = lane, "lost"
        events: list[dict[str, Any]] = []
        if scenario.number // len(LANES) % WEBSOCKETS == 0:
            name, received = f"{lane}, websocket", self._by_websocket(lane, scenario)
        else:
            received = self._by_http(lane, scenario)
        try:
            async for event in received:
                events.append(event)
                if scenario.patience is not None and len(events) > scenario.patience:
                    outcome = "hung up"
                    await received.aclose()
                    return
            outcome = outcome_of(scenario, events)
            self._tally.deltas += len(events)
        except BROKEN as error:
            if self._tally.was_killed_since(began):
                outcome = "lost with its worker"
                await asyncio.sleep(0.1)
            else:
                self._note(lane, scenario, error)
        except (AssertionError, ValueError, TimeoutError) as error:
            self._note(lane, scenario, error)
        finally:
            self._tally.outcomes[name, outcome] += 1

    def _note(self, lane: str, scenario: Scenario, error: Exception) -> None:
        told = f"`{lane}`, scenario {scenario.number} ({scenario.fault}): {type(error).__name__}: {error}"
        self._tally.wrong.append(told)

    async def _by_http(self, lane: str, scenario: Scenario) -> AsyncGenerator[dict[str, Any]]:
        body = {"model": lane, "input": str(scenario.number), "stream": True, "store": False}
        async with self._session.post(f"{self._url}/responses", json=body, headers=HEADERS) as response:
            if response.status != 200:
                yield {"type": "error", "status": response.status, **await response.json()}
                return
            buffer = b""
            async for data in response.content.iter_any():
                *frames, buffer = (buffer + data).split(b"\n\n")
                for frame in frames:
                    if b"\ndata: {" in frame:
                        yield json.loads(frame.partition(b"\ndata: ")[2])

    async def _by_websocket(self, lane: str, scenario: Scenario) -> AsyncGenerator[dict[str, Any]]:
        address = self._url.replace("http", "ws", 1) + "/responses"
        async with connect(address, additional_headers=HEADERS, max_size=None) as websocket:
            ask = {"type": "response.create", "model": lane, "input": str(scenario.number), "store": False}
            await websocket.send(json.dumps(ask))
            async for frame in websocket:
                event = json.loads(frame)
                yield event
                if event["type"] in LAST:
                    return


def outcome_of(scenario: Scenario, events: list[dict[str, Any]]) -> str:
    """The outcome, if it is one that the plan has."""
    last = events[-1]
    if last["type"] == "error":
        assert last["error"].keys() == {"message", "type", "param", "code"}, last
        assert len(events) == 1, "an error after other events"
        assert scenario.fault in {"refused", "busy", "dies"}, f"refused without a reason: {last}"
        return f"HTTP {last['status']}"
    check(events)
    text = join_surrogates("".join(event["delta"] for event in events if event["type"] == "response.output_text.delta"))
    if last["type"] == "response.completed":
        assert scenario.fault in HARMLESS, "completed although it was cut"
        assert text == scenario.text, "not what was said"
        assert last["response"]["output"][0]["content"][0]["text"] == scenario.text, "not what was said, in the end"
        return "completed"
    assert last["type"] == "response.failed", last["type"]
    assert scenario.fault not in HARMLESS - {"busy"}, f"failed without a reason: {last['response']['error']}"
    assert scenario.text.startswith(text), "not the beginning of what was said"
    return "failed"
