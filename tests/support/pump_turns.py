"""A pump over a scripted upstream: payloads, pauses and errors, and the names of the events it sends."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import count
from typing import Any

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.response import Identity
from app.turns.direct_client import DirectClient
from app.turns.failures import SILENT
from app.turns.opening import RequestOpening
from app.turns.pump import Pump
from app.turns.turn_protocols import Answer
from app.upstreams.clocks import Clocks
from app.upstreams.port import UpstreamRefused


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


class Script:
    """An upstream that plays its steps: a payload, a pause in seconds, or an error; it knows whether it was closed."""

    def __init__(self, *steps: Any) -> None:
        self.steps = steps
        self.drawn = 0
        self.closed = False

    async def play(self) -> AsyncGenerator[Any]:
        try:
            for step in self.steps:
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, float):
                    await asyncio.sleep(step)
                else:
                    self.drawn += 1
                    yield step
        finally:
            self.closed = True


REQUEST = parse_request(json.dumps({"model": "m", "input": "Hi"}).encode())
IDENTITY = Identity("resp_AM-1", 1)


def turn() -> ChatTurn:
    numbers = count(2)
    return ChatTurn(
        REQUEST,
        model="m",
        options=ChatOptions(),
        identity=IDENTITY,
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1,
    )


def pump(script: Script, **limits: float) -> Pump:
    return pump_into(turn(), script.play(), Clocks(**limits))


def pump_into(
    reader: ChatTurn, payloads: AsyncGenerator[Any], clocks: Clocks, client: DirectClient | None = None
) -> Pump:
    async def answer() -> Answer:
        try:
            return Answer(reader, clocks, await anext(payloads), payloads)
        except StopAsyncIteration:
            raise UpstreamRefused(SILENT) from None

    opening = RequestOpening(REQUEST, IDENTITY)
    return Pump(opening, answer, clocks=lambda: clocks, client=lambda: client, request_id="req_1")


async def names(batches: AsyncIterator[list[Event]]) -> list[str]:
    return [str(type(event).__name__) async for batch in batches for event in batch]


async def last(batches: AsyncIterator[list[Event]]) -> Event:
    return [event async for batch in batches for event in batch][-1]
