"""Calls of custom tools with a Lark grammar: what a client is told, over each way to ask a model and to be answered."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from app.bridges.input_checks import MOST_INPUTS
from app.grammars.grammar_checker import GrammarChecker
from app.settings import Model, Secret, Settings, Upstream
from tests.support.serving import serving
from tests.wire.event_stream import judged
from tests.wire.script import calls, turn
from tests.wire.servers import KEY, Calls, ChatUpstream
from tests.wire.servers.functions_only import FUNCTION_SERVERS
from tests.wire.sockets import opened

Json = dict[str, Any]

SUM = 'start: number ("+" number)*\nnumber: /[0-9]+/\n'
MISMATCH = "The input of a call of 't' does not match the grammar of the tool after 2 characters."
UNREADABLE = (
    "The input of a call of 't' was not checked: its grammar cannot be read (at 1(8): unknown name: \"nothing\")."
)
TOO_MANY = f"The input of a call of 't' was not checked: {MOST_INPUTS} others of this answer were."


def lark(definition: str) -> Json:
    return {
        "type": "custom",
        "name": "t",
        "format": {"type": "grammar", "syntax": "lark", "definition": definition},
    }


@contextmanager
def over_chat(*inputs: str) -> Iterator[str]:
    made = [
        calls(index, "t", id=f"call_{index}", arguments=json.dumps({"input": text}))
        for index, text in enumerate(inputs)
    ]
    with ChatUpstream(turn(*made, reason="tool_calls")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
            yield url


@contextmanager
def over_a_relay(*inputs: str) -> Iterator[str]:
    server = FUNCTION_SERVERS["vllm"]().say([Calls("t", json.dumps({"input": text})) for text in inputs])
    with server:
        there = Upstream(via="responses", provider="vllm", base_url=server.url, api_key=Secret(KEY))
        models = {"m": Model(upstream="there", name=server.model)}
        with serving(Settings(upstreams={"there": there}, models=models)) as url:
            yield url


@pytest.fixture(autouse=True)
def _on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks have time, unless a test is about it."""
    monkeypatch.setattr("app.turns.grammar_checks.SECONDS", 15)


CASES = [
    (SUM, ["1+22+3"], []),
    (SUM, ["1+a"], [MISMATCH]),
    (SUM, ["1+a", "1+2", "1+b"], [MISMATCH]),
    ("start: nothing", ["a"], [UNREADABLE]),
    (SUM, ["1"] * MOST_INPUTS, []),
]


@pytest.mark.parametrize("served", [over_chat, over_a_relay])
@pytest.mark.parametrize(("grammar", "inputs", "warnings"), CASES)
def test_clients_read_it_at_the_end(served: Any, grammar: str, inputs: list[str], warnings: list[str]) -> None:
    """In the header of a whole answer, in the last event of a streamed one. The calls are passed on in any case."""
    asked = {"model": "m", "input": "Hi", "tools": [lark(grammar)]}
    with served(*inputs) as url:
        streamed = httpx.post(f"{url}/v1/responses", json={**asked, "stream": True})
        whole = httpx.post(f"{url}/v1/responses", json=asked)
    events = [json.loads(line[6:]) for line in streamed.text.split("\n") if line.startswith("data: {")]
    assert events[-1].pop("x_am_warnings", []) == warnings
    judged(events)
    assert json.loads(whole.headers.get("x-am-warnings", "[]")) == warnings
    for response in (whole.json(), events[-1]["response"]):
        assert [item["input"] for item in response["output"]] == inputs


async def test_over_a_websocket_the_last_event_tells_it() -> None:
    with over_chat("1+a") as url:
        async with opened(url) as client:
            events = await client.ask(model="m", input="Hi", tools=[lark(SUM)])
    assert events[-1].pop("x_am_warnings") == [MISMATCH]
    judged(events)


def test_the_inputs_of_an_answer_are_counted() -> None:
    with over_chat(*["1+a"] * (MOST_INPUTS + 1)) as url:
        whole = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": [lark(SUM)]})
    assert sorted(json.loads(whole.headers["x-am-warnings"])) == [MISMATCH, TOO_MANY]


def test_all_checks_of_an_answer_have_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.turns.grammar_checks.SECONDS", 0.5)
    ambiguous = 'start: s\ns: s s | "a" |'
    with over_chat(*["a" * 20_000] * MOST_INPUTS) as url:
        whole = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": [lark(ambiguous)]})
    assert json.loads(whole.headers["x-am-warnings"]) == [
        "The input of a call of 't' was not checked: that takes too long."
    ]
    assert whole.elapsed.total_seconds() < 4


def test_without_the_library_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.main.can_check", lambda: False)
    with over_chat("1+a") as url:
        whole = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": [lark(SUM)]})
    assert "x-am-warnings" not in whole.headers


def test_a_tool_that_is_not_called_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(GrammarChecker, "fault", lambda *given: asked.append(given))
    with ChatUpstream(turn(reason="stop")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": [lark(SUM)]})
    assert asked == []
