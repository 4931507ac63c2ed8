"""A client that speaks while a response runs over a websocket."""

import json
from typing import Any

from tests.wire import grammar
from tests.wire.servers import ChatUpstream, Latch
from tests.wire.sockets import Client

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
