"""Steering over a websocket, where the model may be asked again for calls that do not match their grammar."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from app.settings import Model, Settings, Upstream
from tests.support.serving import serving
from tests.support.steering import TEXT, begun, steer, steered
from tests.wire.script import calls, opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Latch, Step
from tests.wire.sockets import opened, text_of

DATE: Final[dict[str, Any]] = {
    "type": "custom",
    "name": "date",
    "format": {"type": "grammar", "syntax": "regex", "definition": r"\d+"},
}


@contextmanager
def before(upstream: ChatUpstream) -> Iterator[str]:
    """The address of AM Proxy before this server."""
    there = Upstream(via="chat", base_url=upstream.url, retries=0)
    models = {"m": Model(upstream="there", grammars="ask_again")}
    with serving(Settings(upstreams={"there": there}, models=models)) as url:
        yield url


async def test_the_model_is_not_asked_again_for_a_response_that_was_steered() -> None:
    gate = Latch()
    call = calls(0, "date", id="call_0", arguments='{"input": "today"}')
    scripts: list[list[Step]] = [[opens(), says("See."), gate, call, stops("tool_calls")], [*text_turn("New.")]]
    with ChatUpstream(*scripts) as upstream, before(upstream) as url:
        async with opened(url) as client:
            events = await steered(client, gate, TEXT, model="m", tools=[DATE])
            assert events[-1]["response"]["incomplete_details"] == {"reason": "steered"}
            assert [item["type"] for item in events[-1]["response"]["output"]] == ["message"]
            assert text_of(await client.answer()) == "New."
        assert len(upstream.asks) == 2


async def test_a_response_that_may_begin_with_a_summary_cannot_be_steered() -> None:
    gate = Latch()
    managed = [{"type": "compaction", "compact_threshold": 100_000}]
    with ChatUpstream([opens(), says("Hi"), gate, stops()]) as upstream, before(upstream) as url:
        async with opened(url) as client:
            events = await begun(client, TEXT, model="m", input="Hello", tools=[DATE], context_management=managed)
            await steer(client, events[0]["response"]["id"], "x")
            assert (await client.event())["error"]["code"] == "steering_not_supported"
            gate.open()
            assert (await client.answer())[-1]["type"] == "response.completed"
