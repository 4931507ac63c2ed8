"""Models with `grammars = "ask_again"`: a call that does not match is asked for once more, unseen by clients."""

import asyncio
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from app.main import LibraryMissingError, build_app
from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.block_scripts import as_blocks
from tests.support.serving import serving
from tests.support.steering import THOUGHT, steered
from tests.wire import grammar
from tests.wire.event_stream import events_of, judged
from tests.wire.script import call_turn, calls, counts, opens, says, stops, text_turn, thinks
from tests.wire.servers import AnthropicUpstream, ChatUpstream, Hang, Latch, Pause, Script, Status, Step
from tests.wire.sockets import opened, text_of

Json = dict[str, Any]

DATE: Final = {"type": "grammar", "syntax": "regex", "definition": r"\d{4}-\d\d-\d\d"}
SUM: Final = {"type": "grammar", "syntax": "lark", "definition": 'start: N ("+" N)*\nN: /[0-9]+/'}
BROKEN: Final = {"type": "grammar", "syntax": "lark", "definition": "start: nothing"}
TOOLS: Final = [
    {"type": "custom", "name": "date", "format": DATE},
    {"type": "custom", "name": "sum", "format": SUM},
    {"type": "custom", "name": "broken", "format": BROKEN},
    {"type": "custom", "name": "plain"},
    {"type": "function", "name": "weather", "parameters": {"type": "object"}},
]
MISMATCH: Final = "The input of a call of 'date' does not match the regular expression of the tool."
AGAIN: Final = "The call was not run: its input does not match the {}. Make the call again, with an input that matches."
NOT_RUN: Final = AGAIN.format("regular expression of the tool")
NO_SUM: Final = AGAIN.format("grammar of the tool after 2 characters")
UNREADABLE: Final = (
    "The input of a call of 'broken' was not checked: its grammar cannot be read (at 1(8): unknown name: \"nothing\")."
)
OTHER: Final = "The call was not run, because the input of another call does not match. Make it again as well."


def call(name: str, text: str, number: int = 0) -> Json:
    arguments = json.dumps({"input": text} if name != "weather" else {})
    return calls(number, name, id=f"call_{number}{name}", arguments=arguments)


def message(*chunks: Json, used: int = 5) -> list[Step]:
    return [opens(), *chunks, stops("tool_calls"), counts(7, used)]


TODAY, DAY = call("date", "today"), call("date", "2026-11-19")
DONE: Final[list[Step]] = [*text_turn("Never mind.")]


@contextmanager
def before(upstream: ChatUpstream | AnthropicUpstream, *, via: Any = "chat", **of_server: Any) -> Iterator[str]:
    base = upstream.url.removesuffix("/v1") if via == "messages" else upstream.url
    provider = "hosted_vllm" if via == "litellm" else None
    there = Upstream(via=via, provider=provider, base_url=base, api_key=Secret("sk"), retries=0)
    settings = Settings(
        server=Server(**of_server),
        upstreams={"there": there},
        models={"m": Model(upstream="there", grammars="ask_again")},
    )
    with serving(settings) as url:
        yield url


def ask(url: str, **fields: Any) -> tuple[list[Json], list[str]]:
    """The events of an answer, which every judge has heard, and its warnings."""
    asked = {"model": "m", "input": "Hi", "tools": TOOLS, "stream": True, **fields}
    answer = httpx.post(f"{url}/v1/responses", json=asked, timeout=30)
    assert answer.status_code == 200, answer.text
    events = events_of(answer.content)
    warnings = events[-1].pop("x_am_warnings", [])
    judged(events)
    return events, warnings


def shown(output: Sequence[Json]) -> list[str]:
    """Texts, and inputs and arguments of calls."""
    texts = [item["content"][0]["text"] if item["type"] == "message" else None for item in output]
    return [text or item.get("input") or item["arguments"] for text, item in zip(texts, output, strict=True)]


def wait_for_second(upstream: ChatUpstream) -> None:
    while len(upstream.asks) < 2:
        time.sleep(0.01)


def told(upstream: ChatUpstream) -> list[str]:
    """What the model was told as outputs in the last ask."""
    return [each["content"] for each in upstream.asks[-1].body["messages"] if each["role"] == "tool"]


CASES: Final[dict[str, tuple[list[list[Step]], list[str], list[str], list[str]]]] = {
    "it matches": ([message(DAY)], ["2026-11-19"], [], []),
    "it does not": ([message(TODAY), message(DAY)], ["2026-11-19"], [NOT_RUN], []),
    "nor the second time": ([message(TODAY), message(TODAY)], ["today"], [NOT_RUN], [MISMATCH]),
    "a Lark grammar": ([message(call("sum", "1+x")), message(call("sum", "1+2"))], ["1+2"], [NO_SUM], []),
    "one that cannot be read": (
        [message(call("broken", "a"))],
        ["a"],
        [],
        [UNREADABLE],
    ),
    "text before": (
        [message(says("See."), TODAY), message(says("So."), DAY)],
        ["See.\n\nSo.", "2026-11-19"],
        [NOT_RUN],
        [],
    ),
    "then text alone": ([message(TODAY), DONE], ["Never mind."], [NOT_RUN], []),
    "another call beside": (
        [message(TODAY, call("weather", "", 1)), message(DAY, call("weather", "", 1))],
        ["2026-11-19", "{}"],
        [NOT_RUN, OTHER],
        [],
    ),
    "another call before": ([message(call("weather", ""), call("date", "today", 1))], ["{}", "today"], [], [MISMATCH]),
    "two of a kind": (
        [message(TODAY, call("date", "2026-11-19", 1)), message(DAY)],
        ["2026-11-19"],
        [NOT_RUN, OTHER],
        [],
    ),
    "without a form": ([message(call("plain", "anything"))], ["anything"], [], []),
    "no call": ([DONE], ["Never mind."], [], []),
    "the server fails then": (
        [message(TODAY), [Status(500, {"error": {"message": "no"}})]],
        ["today"],
        [NOT_RUN],
        [MISMATCH],
    ),
}


@pytest.mark.parametrize(("via", "name"), [*(("chat", name) for name in CASES), ("litellm", "it does not")])
def test_what_the_client_gets_and_what_the_model_is_told(via: str, name: str) -> None:
    scripts, output, outputs, warnings = CASES[name]
    with ChatUpstream(*scripts) as upstream, before(upstream, via=via) as url:
        events, late = ask(url)
    response = events[-1]["response"]
    assert (response["status"], shown(response["output"]), late) == ("completed", output, warnings)
    assert (len(upstream.asks), told(upstream)) == (len(scripts), outputs)
    reported = sum(any(isinstance(step, dict) and step.get("usage") for step in script) for script in scripts)
    assert response["usage"]["output_tokens"] == 5 * reported or name in {"then text alone", "no call"}
    if len(scripts) == 2:
        first, second = (ask.body["messages"] for ask in upstream.asks)
        assert second[: len(first)] == first
        made = second[len(first)]
        assert made["tool_calls"][0]["function"]["name"] in {"date", "sum"}
        assert made.get("content") in ({"text before": "See."}.get(name), None, "")


def test_over_the_messages_api_with_signed_reasoning() -> None:
    first = [opens(), thinks("Hm."), *message(TODAY)[1:]]
    scripts = [as_blocks(first), as_blocks(message(DAY))]
    with AnthropicUpstream(*scripts) as upstream, before(upstream, via="messages") as url:
        events, late = ask(url)
    assert shown(events[-1]["response"]["output"][-1:]) == ["2026-11-19"]
    assert late == []
    *_, assistant, results = upstream.asks[-1].body["messages"]
    assert [block["type"] for block in assistant["content"]] == ["thinking", "tool_use"]
    assert assistant["content"][0]["signature"]
    [result] = results["content"]
    assert (result["type"], result["is_error"], NOT_RUN in json.dumps(result)) == ("tool_result", True, True)


@pytest.mark.parametrize("name", ["it does not", "nor the second time", "it matches"])
def test_a_whole_answer_is_the_same(name: str) -> None:
    scripts, output, _, warnings = CASES[name]
    with ChatUpstream(*scripts) as upstream, before(upstream) as url:
        answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": TOOLS})
    assert shown(answer.json()["output"]) == output
    assert json.loads(answer.headers.get("x-am-warnings", "[]")) == warnings


def test_the_stream_stays_alive_and_shows_text_at_once(caplog: pytest.LogCaptureFixture) -> None:
    slow: Script = [Pause(0.4), *message(DAY)]
    scripts = [[opens(), says("See."), Pause(0.4), *message(TODAY)[1:]], slow]
    with (
        caplog.at_level("INFO", "am_proxy.turn"),
        ChatUpstream(*scripts) as upstream,
        before(upstream, keep_alive=0.1) as url,
    ):
        events, _ = ask(url)
    kinds = [event["type"] for event in events]
    added = kinds.index("response.output_item.added", kinds.index("response.output_item.added") + 1)
    assert kinds[:added].count("response.output_text.delta") > 4
    assert sum(kind == "response.custom_tool_call_input.done" for kind in kinds) == 1
    [fields] = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert (fields["asked_again"], fields["output_tokens"], fields["status"]) == (1, 10, 200)


async def test_a_client_that_ends_the_response_meanwhile_ends_the_second_ask() -> None:
    with ChatUpstream([*message(says("See."), TODAY)], [opens(), Hang()]) as upstream, before(upstream) as url:
        async with opened(url) as client:
            await client.send(model="m", input="Hi", tools=TOOLS)
            events = [await client.event()]
            await asyncio.to_thread(wait_for_second, upstream)
            frame = {"type": "response.cancel", "response_id": events[0]["response"]["id"]}
            await client.connection.send(json.dumps(frame))
            events += await client.answer()
    grammar.check(events)
    assert (events[-1]["type"], shown(events[-1]["response"]["output"])) == ("response.incomplete", ["See."])


def test_a_server_that_breaks_in_the_second_message_fails_the_answer() -> None:
    with ChatUpstream(message(TODAY), [opens(), says("So.")]) as upstream, before(upstream) as url:
        asked = {"model": "m", "input": "Hi", "tools": TOOLS, "stream": True}
        events = events_of(httpx.post(f"{url}/v1/responses", json=asked).content)
    assert events[-1]["type"] == "response.failed"
    assert len(upstream.asks) == 2


def test_ids_that_repeat_are_replaced() -> None:
    """Some servers number the calls of each answer from zero."""
    history = [
        {"type": "custom_tool_call", "call_id": "call_0date", "name": "date", "input": "2026-11-18"},
        {"type": "custom_tool_call_output", "call_id": "call_0date", "output": "Tuesday"},
        {"role": "user", "content": "And now?"},
    ]
    with ChatUpstream(message(TODAY), message(DAY)) as upstream, before(upstream) as url:
        events, _ = ask(url, input=history)
    assert shown(events[-1]["response"]["output"]) == ["2026-11-19"]
    ids = [each["tool_call_id"] for each in upstream.asks[-1].body["messages"] if each["role"] == "tool"]
    assert len(set(ids)) == len(ids) == 2


def test_an_answer_of_any_length_is_bounded() -> None:
    endless = [opens(), calls(0, "date", id="a"), *[calls(0, "", arguments="x" * 1000)] * 1200, stops("tool_calls")]
    with ChatUpstream(endless) as upstream, before(upstream, max_answer_bytes=1024 * 1024) as url:
        asked = {"model": "m", "input": "Hi", "tools": TOOLS, "stream": True}
        events = events_of(httpx.post(f"{url}/v1/responses", json=asked).content)
    assert (events[-1]["type"], len(upstream.asks)) == ("response.failed", 1)


def test_other_models_stream_their_calls_as_before() -> None:
    with ChatUpstream(call_turn("date", '{"input": "to', 'day"}')) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
            events, late = ask(url)
    deltas = [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"]
    assert (deltas, late) == (["to", "day"], [MISMATCH])


def test_without_the_library_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.main.can_check", lambda: False)
    settings = Settings(models={"m": Model(upstream="demo", grammars="ask_again")})
    with pytest.raises(LibraryMissingError, match=re.escape("run pip install '.[grammars]'")):
        build_app(settings)
    build_app(Settings())


@pytest.mark.parametrize("holds", [False, True])
async def test_it_can_be_steered(*, holds: bool) -> None:
    """The response ends before its next item, also if that is a call that is held."""
    gate = Latch()
    rest = [says("Old"), Hang()] if not holds else [TODAY, stops("tool_calls")]
    scripts = [[opens(), thinks("hm"), gate, *rest], text_turn("New.")]
    with ChatUpstream(*scripts) as upstream, before(upstream) as url:
        async with opened(url) as client:
            events = await steered(client, gate, THOUGHT, model="m", tools=TOOLS)
            assert events[-1]["response"]["incomplete_details"] == {"reason": "steered"}
            assert [item["type"] for item in events[-1]["response"]["output"]] == ["reasoning"]
            assert text_of(await client.answer()) == "New."
