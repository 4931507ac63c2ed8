"""Where the time of a turn went: every part of it is a phase, and together they are the whole turn."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import connect

from app.settings import Model, Secret, Settings, Upstream
from tests.inspector.test_turn_endpoints import get
from tests.support.serving import serving
from tests.upstreams.test_paused_answers import GOES_ON, PAUSES
from tests.wire.script import text_turn
from tests.wire.servers import AnthropicUpstream, ChatUpstream, Pause, Status

Json = dict[str, Any]
HI: Final = text_turn("Hi")
BUSY: Final = Status(503, {"error": {"message": "busy"}}, {"retry-after": "1"})
ASKS: Final = {"ask", "again", "fallback", "second_ask", "going_on"}
WHOLE: Final = {"admission", "body", "reading", "preparing", "between", "ending"} | ASKS
"""Phases that follow each other; the others are parts of them."""
BEFORE: Final = ["admission", "body", "reading", "preparing"]


def phases_of(url: str) -> list[Json]:
    """The phases of the first turn, once it has ended. Without a hole of more than a millisecond between them."""
    while (turn := get(url, "turns/1"))["row"]["state"] == "running":
        time.sleep(0.02)
    phases = list(turn["timeline"])
    at = 0.0
    for phase in (each for each in phases if each["phase"] in WHOLE):
        assert at - 0.1 <= phase["from"] <= at + 1, phases
        at = phase["to"]
    assert turn["row"]["total_ms"] - 2 <= at <= turn["row"]["total_ms"] + 2, phases
    assert all(phase["words"] for phase in phases)
    return phases


def names(phases: list[Json]) -> list[str]:
    """Of the phases that follow each other, without those that may be too short to be shown."""
    return [each["phase"] for each in phases if each["phase"] in WHOLE - {"between", "ending"}]


def took(phases: list[Json], name: str) -> float:
    return float(sum(phase["to"] - phase["from"] for phase in phases if phase["phase"] == name))


def post(url: str, **fields: Any) -> None:
    httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", **fields}, timeout=30)


@contextmanager
def retried() -> Iterator[str]:
    with ChatUpstream([BUSY], HI) as server:
        up = Upstream(via="chat", base_url=server.url)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            post(url)
            yield url


@contextmanager
def fallen_back() -> Iterator[str]:
    with ChatUpstream([Status(500, {"error": {"message": "no"}})]) as bad, ChatUpstream(HI) as good:
        ups = {name: Upstream(via="chat", base_url=each.url) for name, each in (("bad", bad), ("good", good))}
        models = {"m": Model.model_validate({"upstreams": ["bad", "good"]})}
        with serving(Settings(upstreams=ups, models=models)) as url:
            post(url)
            yield url


@contextmanager
def paused() -> Iterator[str]:
    with AnthropicUpstream(PAUSES, GOES_ON) as server:
        up = Upstream(via="messages", base_url=server.url, api_key=Secret("sk-upstream"))
        model = Model(upstream="up", name="claude-sonnet-4-6", web_search=True)
        with serving(Settings(upstreams={"up": up}, models={"m": model})) as url:
            post(url, tools=[{"type": "web_search"}])
            yield url


@contextmanager
def over_a_websocket() -> Iterator[str]:
    with ChatUpstream(HI) as server:
        up = Upstream(via="chat", base_url=server.url)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            with connect(f"{url.replace('http', 'ws')}/v1/responses") as websocket:
                websocket.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi"}))
                while json.loads(websocket.recv(timeout=10))["type"] != "response.completed":
                    pass
            yield url


CASES: Final[dict[str, tuple[Callable[[], Any], list[str]]]] = {
    "a retry": (retried, [*BEFORE, "ask"]),
    "a fallback": (fallen_back, [*BEFORE, "ask", "fallback"]),
    "a pause": (paused, [*BEFORE, "ask", "going_on"]),
    "a websocket": (over_a_websocket, [*BEFORE, "ask"]),
}


@pytest.mark.parametrize("name", CASES)
def test_all_of_the_time_is_in_a_phase(name: str) -> None:
    start, expected = CASES[name]
    with start() as url:
        phases = phases_of(url)
    assert names(phases) == expected
    if name == "a retry":
        assert 900 <= took(phases, "retry") < 5000
        assert [each["phase"] for each in phases].count("waiting") == 2
        assert took(phases, "streaming") < 500  # what a failed try sent is no part of the answer


def test_waiting_for_the_client_and_for_a_connection_is_told_apart() -> None:
    with ChatUpstream([Pause(0.4), *HI]) as server:
        up = Upstream(via="chat", base_url=server.url)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as url:
            host, port = url.removeprefix("http://").split(":")
            body = b'{"model": "m", "input": "Hi"}'
            with socket.create_connection((host, int(port))) as client:
                client.sendall(f"POST /v1/responses HTTP/1.1\r\nhost: {host}\r\n".encode())
                client.sendall(b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body))
                time.sleep(0.5)
                client.sendall(body)
                client.recv(100_000)
            phases = phases_of(url)
    assert 190 <= took(phases, "body") < 1500
    assert 0 < took(phases, "connecting") <= took(phases, "waiting")
    assert took(phases, "waiting") + took(phases, "streaming") >= 390
