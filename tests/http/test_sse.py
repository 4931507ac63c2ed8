"""Events as bytes, signs of life and the held-back status line, as a client on a socket sees them."""

import json
import time
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import events_of
from tests.wire.grammar import check
from tests.wire.program import serving
from tests.wire.script import opens, says, stops, text_turn
from tests.wire.servers import ChatUpstream, Latch

ASK = {"model": "demo", "input": "Hi", "stream": True}


def settings_of(upstream: ChatUpstream, **server: Any) -> str:
    return Settings(
        server=Server(**server),
        upstreams={"there": Upstream(via="chat", base_url=upstream.url)},
        models={"demo": Model(upstream="there")},
    )


def test_a_frame_is_one_event_with_lf_only_and_no_line_end_inside() -> None:
    with ChatUpstream(text_turn("a\u2028\u2029\x85é\r\n")) as upstream, serving(settings_of(upstream)) as url:
        body = httpx.post(f"{url}/v1/responses", json=ASK).content
    assert "a\u2028\u2029\x85é\r\n" in [event.get("delta") for event in events_of(body)]
    assert b'"delta":"a\\u2028\\u2029\\u0085\xc3\xa9\\r\\n"' in body


def test_silence_is_filled_with_events_that_say_nothing() -> None:
    first, second = Latch(), Latch()
    events = []
    with ChatUpstream([first, opens(), says("Hi"), second, stops()]) as upstream:
        settings = settings_of(upstream, keep_alive=0.1, first_payload_wait=0.05)
        with serving(settings) as url, httpx.stream("POST", f"{url}/v1/responses", json=ASK, timeout=20) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    events.append(json.loads(line.removeprefix("data: ")))
                if [event["type"] for event in events].count("response.in_progress") == 3:
                    first.open()
                if [event.get("delta") for event in events].count("") == 2:
                    second.open()
    check(events)
    assert events[-1]["type"] == "response.completed"


def test_the_status_line_waits_for_the_upstream_but_not_for_ever() -> None:
    gate = Latch()
    with (
        ChatUpstream([gate, *text_turn("Hi")]) as upstream,
        serving(settings_of(upstream, first_payload_wait=0.2)) as url,
    ):
        began = time.monotonic()
        with httpx.stream("POST", f"{url}/v1/responses", json=ASK, timeout=20) as answer:
            waited = time.monotonic() - began
            first = next(answer.iter_text())
            gate.open()
    assert waited >= 0.2
    assert first.startswith("event: response.created\n")


def test_the_same_answer_whole_and_streamed() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, serving(settings_of(upstream)) as url:
        whole = httpx.post(f"{url}/v1/responses", json={**ASK, "stream": False}).json()
        answer = events_of(httpx.post(f"{url}/v1/responses", json=ASK).content)[-1]["response"]
    for body in (whole, answer):
        body["id"] = body["output"][0]["id"] = ""
        body["created_at"] = body["completed_at"] = 0
    assert whole == answer


@pytest.mark.parametrize(("originator", "part"), [("codex_exec", "output_text"), ("opencode", "refusal")])
def test_codex_alone_reads_a_refusal_as_text(originator: str, part: str) -> None:
    """It would show nothing otherwise."""
    with serving() as url:
        ask = {**ASK, "input": "refuse"}
        events = events_of(httpx.post(f"{url}/v1/responses", json=ask, headers={"originator": originator}).content)
    check(events)
    assert [each["type"] for each in events[-1]["response"]["output"][0]["content"]] == [part]


@pytest.mark.parametrize(
    ("originator", "last"),
    [("codex_exec", "response.completed"), ("codex_cli_rs", "response.completed"), ("opencode", "response.incomplete")],
)
def test_codex_alone_reads_an_incomplete_answer_as_completed(originator: str, last: str) -> None:
    """It would throw the answer away otherwise; the response inside still says what it is."""
    ask = {**ASK, "input": "an incomplete one"}
    with serving() as url:
        events = events_of(httpx.post(f"{url}/v1/responses", json=ask, headers={"originator": originator}).content)
    check(events, completed_may_be_incomplete=originator.startswith("codex"))
    assert events[-1]["type"] == last
    assert events[-1]["response"]["status"] == "incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
