"""A client that leaves frees the model within a second: in each dialect, over each transport, in each phase."""

import json
import socket
import time
from contextlib import ExitStack
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from tests.wire import script
from tests.wire.cases import FORMATS
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Hang, ScriptedUpstream, Step, anthropic, gemini, responses

CHAT: Final = [script.opens(), script.says("one")]
CLAUDE: Final = [*anthropic.begins(), *anthropic.text(0, "one")[:2]]


class Way(NamedTuple):
    """How a model is asked, and the beginning of its answer."""

    model: str
    begins: list[Any]
    words: bytes = b"output_text.delta"
    """What the client has got then."""


WAYS: Final = {
    "chat": Way("m", CHAT),
    "messages": Way("claude-sonnet-4-5", CLAUDE),
    "responses": Way("m", responses.answer(responses.message("msg_1", "one", "two"))[:5]),
    "litellm anthropic": Way("claude-sonnet-4-5", CLAUDE),
    "litellm gemini": Way("gemini-2.5-flash", [gemini.answers({"text": "one"})]),
    "litellm openai": Way("gpt-4o", CHAT),
}


@pytest.fixture(scope="module")
def upstreams() -> Any:
    """One for each way, and the configuration of all of them."""
    with ExitStack() as stack:
        made: dict[str, ScriptedUpstream] = {name: stack.enter_context(FORMATS[name]()) for name in WAYS}
        tables = {}
        for name, upstream in made.items():
            upstream.may_violate = True
            via, _, provider = name.partition(" ")
            tables[name] = Upstream(via=via, provider=provider or None, base_url=upstream.url, api_key="sk-case")
        models = {name: Model(upstream=name, name=way.model) for name, way in WAYS.items()}
        yield made, Settings(upstreams=tables, models=models)


@pytest.mark.parametrize("has_begun", [False, True], ids=["before-it-answers", "within-its-answer"])
@pytest.mark.parametrize("transport", ["stream", "whole", "websocket"])
@pytest.mark.parametrize("name", WAYS)
def test_who_leaves_frees_the_model(upstreams: Any, name: str, transport: str, *, has_begun: bool) -> None:
    made, settings = upstreams
    upstream, way = made[name], WAYS[name]
    steps: list[Step] = [*way.begins, Hang()] if has_begun else [Hang()]
    upstream.asks.clear()
    upstream.faults = lambda _: []
    upstream.scripts = (steps,)
    with serving(settings) as url:
        leave = _frame(url, name) if transport == "websocket" else _post(url, name, streams=transport == "stream")
        next(leave)
        while not upstream.asks:
            time.sleep(0.01)
        if has_begun and transport != "whole":
            leave.send(way.words)
        left = time.monotonic()
        leave.close()
        assert upstream.asks[0].wait_gone()
    assert time.monotonic() - left < 1


def test_who_leaves_a_compaction_frees_the_model(upstreams: Any) -> None:
    made, settings = upstreams
    upstream = made["responses"]
    upstream.asks.clear()
    upstream.faults = lambda _: []
    upstream.scripts = ([Hang()],)
    with serving(settings) as url:
        leave = _post(url, "responses", streams=False, path="/v1/responses/compact")
        next(leave)
        while not upstream.asks:
            time.sleep(0.01)
        left = time.monotonic()
        leave.close()
        assert upstream.asks[0].wait_gone()
        assert upstream.asks[0].path == "/v1/responses/compact"
    assert time.monotonic() - left < 1


def _post(url: str, model: str, *, streams: bool, path: str = "/v1/responses") -> Any:
    """Posts; reads until these words come; and leaves."""
    where = urlsplit(url)
    body = json.dumps({"model": model, "input": "Hi", "stream": streams})
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as client:
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        words = yield
        got = b""
        while words not in got:
            got += client.recv(65536)
        yield


def _frame(url: str, model: str) -> Any:
    """The same over a websocket."""
    with connect(f"{url.replace('http', 'ws', 1)}/v1/responses", close_timeout=0) as client:
        client.send(json.dumps({"type": "response.create", "model": model, "input": "Hi"}))
        words = yield
        while words not in client.recv(20, decode=False):
            pass
        yield
