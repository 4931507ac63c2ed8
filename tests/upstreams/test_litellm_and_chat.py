"""The same request gives the same events through litellm and without it: every transcript, over real sockets."""

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from app.protocol.events import Event
from app.upstreams.http_chat import HttpChat
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.port import UpstreamBroke, UpstreamPort, UpstreamRefused
from tests.support.servers import Ask, ChatUpstream, Cut, Pause, Step
from tests.support.transcripts import each_transcript, lines, new_turn
from tests.support.upstream_asks import KEY

Json = dict[str, Any]


class Signing(ChatUpstream):
    """A server that signs thoughts, and so takes its own blocks back."""

    def faults(self, ask: Ask) -> list[str]:
        """Say what it would refuse."""
        return [fault for fault in super().faults(ask) if not fault.endswith("unknown keys: ['thinking_blocks']")]


def script(folder: Path) -> list[Step]:
    """What the upstream of this transcript does on a socket."""
    return [_step(line) for line in lines(folder / "upstream.jsonl")]


def _step(line: Any) -> Step:
    match line:
        case {"silence": True}:
            return Pause(0.01)
        case {"broke": _}:
            return Cut()
        case dict():
            return line
        case _:
            return b"data: " + json.dumps(line).encode() + b"\n\n"


async def sent_events(folder: Path, lane: UpstreamPort[Json, Json]) -> list[Json]:
    """What the client is told, or the problem it gets instead of a stream."""
    turn = new_turn(folder)
    upstream = lane.open(turn.ask)
    events: list[Event] = turn.begin()
    try:
        async with aclosing(upstream) as payloads:
            async for payload in payloads:
                if turn.over:
                    break
                events += turn.receive(payload)
        events += [] if turn.over else turn.end()
    except UpstreamRefused as refused:
        return [refused.problem.body()]
    except UpstreamBroke as broke:
        events += [] if turn.over else turn.fail(broke.problem)
    return [msgspec.json.decode(msgspec.json.encode(event)) for event in events]


@each_transcript
async def test_both_lanes_tell_the_same(folder: Path) -> None:
    with Signing(script(folder)) as upstream:
        chat = HttpChat(upstream.url, api_key=KEY)
        direct = await sent_events(folder, chat)
        await chat.close()
        through = await sent_events(folder, LitellmChat(api_key=KEY, base_url=upstream.url))
        asked = [ask.body for ask in upstream.asks]
    assert direct == through
    assert asked[0] == asked[1]
