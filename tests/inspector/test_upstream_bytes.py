"""The inspector shows what came back from upstreams of every lane as it came, and when nothing came for long."""

import re
import time
from typing import Any, Final, Literal

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.inspector.test_turn_endpoints import get
from tests.support.provider_lanes import LANES, RELAYED, wired
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import Calls, ChatUpstream, Hang, Pause, Says, Status, Thinks

Json = dict[str, Any]
EVERY: Final = {**LANES, **RELAYED}
TOOL: Final = {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}
BUSY: Final = Status(503, {"error": {"message": "busy"}}, {"retry-after": "0"})


def turn_of(url: str) -> Json:
    """The turn, once it has ended: its client may have its answer a little earlier."""
    while (turn := get(url, "turns/1"))["row"]["state"] == "running":
        time.sleep(0.02)
    return dict(turn)


@pytest.mark.parametrize("name", EVERY)
def test_the_bytes_of_every_lane_are_shown(name: str) -> None:
    with wired({name: EVERY[name]}, server=Server(watch=5)) as server:
        server.wires[name].say([Thinks("Let me see."), Says("It is sunny"), Calls("ls", "{}")])
        httpx.post(f"{server.url}/v1/responses", json={"model": name, "input": "Hi", "tools": [TOOL]}, timeout=30)
        (ask,) = turn_of(server.url)["asks"]
    assert "sunny" in re.sub(r"[^a-z]", "", ask["raw"]["text"]) or "It is" in ask["raw"]["text"]
    assert ask["raw"]["bytes"] >= len(ask["raw"]["text"].encode()) > 0
    assert ask["started_ms"] < ask["first_ms"] <= ask["ended_ms"]
    if EVERY[name].upstream["via"] == "litellm":
        assert ask["chunks"]["text"].startswith('data: {"')
    else:
        assert ask["chunks"] is None


def test_a_lane_without_bytes_shows_its_chunks() -> None:
    with serving(Settings(upstreams={"demo": Upstream(via="demo")}, models={"m": Model(upstream="demo")})) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"})
        turn = turn_of(url)
    (ask,) = turn["asks"]
    assert ask["raw"] is None
    assert '"content":"I"' in ask["chunks"]["text"]
    assert ask["chunks"]["left_out"] == 0
    assert {"waiting", "streaming"} <= {phase["phase"] for phase in turn["timeline"]}


@pytest.mark.parametrize("upstream", [{"via": "chat"}, {"via": "litellm", "provider": "hosted_vllm"}, {"via": "demo"}])
def test_a_stall_is_seen_on_every_lane(upstream: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.observers.recorded_ask.STALL", 300)
    monkeypatch.setattr("app.upstreams.demo.SLOW", 0.4)
    with ChatUpstream([says("Well"), Pause(0.4), says(" then"), stops()]) as server:
        address = {} if upstream["via"] == "demo" else {"base_url": server.url}
        up = Upstream.model_validate(upstream | address)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "slow", "max_output_tokens": 2}, timeout=30)
            phases = turn_of(url)["timeline"]
    stalls = [phase["to"] - phase["from"] for phase in phases if phase["phase"] == "stall"]
    assert stalls
    assert all(300 <= stall < 2000 for stall in stalls)


def test_a_stall_is_seen_while_it_lasts_and_if_it_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.observers.recorded_ask.STALL", 300)
    with ChatUpstream([says("Well"), Hang()]) as server:
        up = Upstream(via="chat", base_url=server.url, timeout=1)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            body = {"model": "m", "input": "Hi", "stream": True}
            with httpx.stream("POST", f"{url}/v1/responses", json=body, timeout=30) as answer:
                lines = answer.iter_lines()
                next(line for line in lines if "Well" in line)
                time.sleep(0.5)
                running = [phase for phase in get(url, "turns/1")["timeline"] if phase["phase"] == "stall"]
                for _ in lines:
                    pass
            ended = [phase for phase in turn_of(url)["timeline"] if phase["phase"] == "stall"]
    assert [phase["to"] for phase in running] == [None]
    assert [phase["from"] for phase in ended] == [phase["from"] for phase in running]
    assert 900 <= ended[0]["to"] - ended[0]["from"] < 5000


@pytest.mark.parametrize("via", ["chat", "litellm"])
def test_each_try_of_a_request_is_shown(via: Literal["chat", "litellm"]) -> None:
    with ChatUpstream([BUSY], [says("Well"), stops()]) as server:
        more: Json = {"provider": "hosted_vllm"} if via == "litellm" else {}
        up = Upstream(base_url=server.url, via=via, **more)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, timeout=30)
            turn = turn_of(url)
    (ask,) = turn["asks"]
    (failed,) = ask["failed_tries"]
    assert "busy" in failed["raw"]["text"]
    assert failed["status"] == (None if via == "litellm" else 503)
    assert "busy" not in ask["raw"]["text"]
    assert "Well" in ask["raw"]["text"]
    assert [phase["phase"] for phase in turn["timeline"]].count("waiting") == 2
