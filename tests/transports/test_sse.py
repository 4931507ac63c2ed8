"""Events as bytes, keep-alives and the held-back status line, as a client on a socket sees them."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from app.protocol.events import OutputTextDelta
from app.settings import Server, Settings
from app.transports.sse import frame
from app.upstreams.demo import Demo
from tests.support.grammar import check
from tests.support.serving import serving

ASK = {"model": "demo", "input": "Hi", "stream": True}


def test_a_frame_is_one_event_with_lf_only_and_no_line_end_inside() -> None:
    event = OutputTextDelta(
        sequence_number=4, output_index=0, item_id="i", content_index=0, delta="a\u2028\u2029\x85é\r\n"
    )
    assert frame(event) == (
        b"event: response.output_text.delta\n"
        b'data: {"type":"response.output_text.delta","sequence_number":4,"output_index":0,"item_id":"i",'
        b'"content_index":0,"delta":"a\\u2028\\u2029\\u0085\xc3\xa9\\r\\n","logprobs":[]}\n\n'
    )


def events_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def playing(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> None:
    async def play(_demo: Demo, _ask: dict[str, Any]) -> AsyncGenerator[Any]:
        for step in steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step

    monkeypatch.setattr(Demo, "open", play)


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def test_silence_is_filled_with_events_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, 1.2, says("Hi"), 1.2, STOP)
    with serving(Settings(server=Server(keep_alive=0.1, first_payload_wait=0.05))) as url:
        text = httpx.post(f"{url}/v1/responses", json=ASK).text
    events = events_of(text)
    check(events)
    assert [event["type"] for event in events].count("response.in_progress") >= 3
    assert [event.get("delta") for event in events].count("") >= 2


def test_the_status_line_waits_for_the_upstream_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, 3.0, says("Hi"), STOP)
    with serving(Settings(server=Server(first_payload_wait=0.2))) as url:
        began = time.monotonic()
        with httpx.stream("POST", f"{url}/v1/responses", json=ASK) as answer:
            waited = time.monotonic() - began
            first = next(answer.iter_text())
    assert 0.2 <= waited < 2.5
    assert first.startswith("event: response.created\n")


def test_one_batch_is_one_send(monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, *[says("a")] * 20, STOP)
    with serving() as url, httpx.stream("POST", f"{url}/v1/responses", json=ASK) as answer:
        pieces = list(answer.iter_raw())
    check(events_of(b"".join(pieces).decode()))
    assert all(piece.endswith(b"\n\n") for piece in pieces)
    assert len(pieces) < 20


def test_the_same_answer_whole_and_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    playing(monkeypatch, says("Hi"), STOP)
    with serving() as url:
        whole = httpx.post(f"{url}/v1/responses", json={**ASK, "stream": False}).json()
        events = events_of(httpx.post(f"{url}/v1/responses", json=ASK).text)
    answer = events[-1]["response"]
    for body in (whole, answer):
        body["id"] = body["output"][0]["id"] = ""
        body["created_at"] = body["completed_at"] = 0
    assert whole == answer


@pytest.mark.parametrize(("originator", "part"), [("codex_exec", "output_text"), ("opencode", "refusal")])
def test_codex_alone_reads_a_refusal_as_text(originator: str, part: str) -> None:
    """It would show nothing otherwise."""
    with serving() as url:
        text = httpx.post(
            f"{url}/v1/responses", json={**ASK, "input": "refuse"}, headers={"originator": originator}
        ).text
    events = events_of(text)
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
        events = events_of(httpx.post(f"{url}/v1/responses", json=ask, headers={"originator": originator}).text)
    check(events, completed_may_be_incomplete=originator.startswith("codex"))
    assert events[-1]["type"] == last
    assert events[-1]["response"]["status"] == "incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
