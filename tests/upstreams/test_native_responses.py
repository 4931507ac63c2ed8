"""Servers that speak Responses themselves, on real sockets: their events, and what goes wrong with them."""

import asyncio
import json
from typing import Any

import pytest

from app.http_client import http_pool
from app.protocol.problems import Problem
from app.upstreams import response_body, response_events
from app.upstreams.native_responses import NativeResponses
from app.upstreams.port import UpstreamRefused
from tests.support.upstream_asks import KEY, answers
from tests.support.upstream_refusals import REFUSALS, SLOW, TOO_LONG, UNREACHABLE, busy, error
from tests.wire.servers import Cut, End, Hang, Latch, LongLine, Pause, Reset, ResponsesUpstream, Script, Status, Step
from tests.wire.servers.responses import answer, begins, ends, message

Json = dict[str, Any]

ASK = {"model": "m", "input": "Hi", "stream": True}
HELLO = answer(message("msg_1", "Hel", "lo"))
BROKE = Problem(code="upstream_error", message="The connection to the upstream broke off.")


def as_it_must(how: str) -> Problem:
    return Problem(code="upstream_error", message=f"The upstream sent an invalid answer: {how}.")


async def read_answer(*script: Step, patience: float = 5) -> tuple[list[Json], Problem | None]:
    """Every event, and what went wrong in the end."""
    with ResponsesUpstream(script) as upstream:
        native = NativeResponses(upstream.url, api_key=KEY, timeout=patience)
        received = await answers(native, ASK)
        await native.close()
        assert len(upstream.asks) == 1, "nothing is retried here"
    return received


@pytest.mark.parametrize(
    "script",
    [
        HELLO,
        [*HELLO, b"data: [DONE]\n\n"],
        [*HELLO, {"type": "response.output_text.delta"}, b"data: {nonsense\n\n", Cut()],
        [b": ping\n\n", *HELLO, End()],
        [{"type": "keepalive"}, *HELLO[:3], {"type": "keepalive", "sequence_number": 3}, *HELLO[3:]],
    ],
    ids=["plain", "with [DONE]", "with rubbish behind its end", "with a comment", "with keepalives"],
)
async def test_every_event_is_yielded_and_the_last_one_ends_it(script: list[Step]) -> None:
    assert await read_answer(*script) == (HELLO, None)


async def test_events_are_found_wherever_their_bytes_are_cut() -> None:
    body = b"".join([b"data: %b\r\n\r\n" % json.dumps(event).encode() for event in HELLO])
    pieces: list[Step] = []
    for start in range(0, len(body), 97):
        pieces += [body[start : start + 97], Pause(0)]
    assert await read_answer(*pieces) == (HELLO, None)


async def test_the_server_sees_the_ask_and_the_key_and_the_connection_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_pool, "SETTLE_UNKNOWN", 0.01)
    with ResponsesUpstream(HELLO) as upstream:
        native = NativeResponses(f"{upstream.url}/", api_key=KEY)
        for _ in range(3):
            await answers(native, ASK)
            await asyncio.sleep(0.02)
        await native.close()
    assert upstream.asks[0].body == ASK
    assert upstream.asks[0].headers["authorization"] == f"Bearer {KEY}"
    assert (len(upstream.asks), upstream.connections) == (3, 1)


@pytest.mark.parametrize(("step", "expected"), REFUSALS)
async def test_what_an_upstream_refuses_is_reported_in_our_words(step: Step, expected: Problem) -> None:
    assert await read_answer(step, patience=0.3 if isinstance(step, Hang) else 5) == ([], expected)


WITH_STATUS = "The upstream failed with status"
NO_KEY = Problem(code="upstream_auth_error", message=f"{WITH_STATUS} 502: No.")
FULL = Problem(code="overloaded", message=f"{WITH_STATUS} 503: No.", retry_after=5)
OUT = Problem(code="upstream_error", message=f"{WITH_STATUS} 503: no")


def refusal(message: str, **fields: Any) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (
            400,
            refusal("Unknown parameter: 'input[0].x'.", param="input[0].x", code="unknown_parameter"),
            Problem(code="unknown_parameter", message="Unknown parameter: 'input[0].x'.", param="input[0].x"),
        ),
        (
            400,
            refusal(f"Bad {KEY} at https://x.test/y", param="temperature", code="of_tomorrow"),
            Problem(code="invalid_value", message="Bad … at …", param="temperature"),
        ),
        (422, refusal("No."), Problem(code="invalid_value", message="No.")),
        (400, {"detail": "No."}, Problem(code="invalid_value", message="The upstream refused the request: No.")),
        (400, {"error": "No."}, Problem(code="invalid_value", message="The upstream refused the request: No.")),
        (400, refusal("No.", param=7, code=7), Problem(code="invalid_value", message="No.")),
        (400, refusal("", code="x"), Problem(code="invalid_value", message="The upstream refused the request.")),
        (500, refusal("No.", code="server_error"), Problem(code="upstream_error", message=f"{WITH_STATUS} 500: No.")),
        (502, refusal("No.", code="upstream_auth_error"), NO_KEY),
        (503, refusal("No.", code="overloaded"), FULL),
        (400, refusal("No.", code="rate_limit_exceeded"), Problem(code="invalid_value", message="No.")),
    ],
)  # fmt: skip
async def test_a_client_that_spoke_the_upstreams_language_is_answered_in_it(
    status: int, body: Json, expected: Problem
) -> None:
    """Its code and the path of the fault, without keys and addresses; a code that lies about its status is none."""
    assert await read_answer(Status(status, body)) == ([], expected)


async def test_an_upstream_that_is_not_there_is_reported() -> None:
    native = NativeResponses("http://127.0.0.1:1/v1")
    assert await answers(native, ASK) == ([], UNREACHABLE)
    await native.close()


ERROR_EVENT = {"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None, "sequence_number": 2}


@pytest.mark.parametrize(
    ("script", "events", "expected"),
    [
        ([Reset()], [], BROKE),
        ([*HELLO[:4], Cut()], HELLO[:4], BROKE),
        ([*HELLO[:4], Latch()], HELLO[:4], SLOW),
        ([*HELLO[:4], End()], HELLO[:4], None),
        ([*HELLO[:2], ERROR_EVENT], HELLO[:2], busy(5)),
        ([ERROR_EVENT], [], busy(5)),
        ([{"type": "error", "error": {"code": 503, "message": "no"}}], [], OUT),
        ([Status(200, error("slow down", "rate_limit_exceeded"))], [], busy(5)),
        ([Status(200, b"<html>")], [], as_it_must("the answer is not a stream of events")),
        ([Status(200, b'{"object": "response"}')], [], as_it_must("the answer is not a stream of events")),
        ([b'data: {"choices": []}\n\n'], [], as_it_must("an event of the stream has no type")),
        ([b"data: {nonsense\n\n"], [], as_it_must("an event of the stream is not JSON")),
        ([b'data: {"\x80type": 1}\n\n'], [], as_it_must("an event of the stream is not JSON")),
        ([*HELLO[:2], b"data: 1\n\n"], HELLO[:2], as_it_must("an event of the stream is not an object")),
        ([*HELLO[:2], b'data: {"type": "a\\nb"}\n\n'], HELLO[:2], as_it_must("an event of the stream has no type")),
        ([LongLine(50 * 1024 * 1024)], [], as_it_must("a line of the stream is too long")),
    ],
)  # fmt: skip
async def test_a_stream_that_breaks_is_reported(
    script: list[Step], events: list[Json], expected: Problem | None
) -> None:
    """One that merely ends is not: whether it was whole the dialect knows."""
    patience = 0.5 if expected == SLOW else 30
    assert await read_answer(*script, patience=patience) == (events, expected)


TOO_LARGE = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
UNVERIFIED = {
    "code": "invalid_encrypted_content",
    "message": "The encrypted content gAAA...Rg== could not be verified.",
}
NOT_TAKEN = Problem(code="invalid_value", message=f"The upstream refused the request: {UNVERIFIED['message']}")
OPENING = HELLO[:2]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([*OPENING, {"type": "error", **TOO_LARGE}], TOO_LONG),
        ([*OPENING, {"type": "error", "error": {**TOO_LARGE, "type": "invalid_request_error"}}], TOO_LONG),
        ([*OPENING, {"type": "error", **TOO_LARGE}, ends(status="failed", error=TOO_LARGE)], TOO_LONG),
        ([*OPENING, Pause(0.05), ends(status="failed", error=TOO_LARGE)], TOO_LONG),
        ([{"type": "error", **TOO_LARGE}, ends(status="failed", error=TOO_LARGE)], TOO_LONG),
        ([ends(status="failed", error=TOO_LARGE)], TOO_LONG),
        ([*OPENING, {"type": "error", **UNVERIFIED}], NOT_TAKEN),
        ([*OPENING, ends(status="failed", error=UNVERIFIED)], NOT_TAKEN),
    ],
)
async def test_a_refusal_behind_the_first_events_is_one_before_the_answer(
    script: list[Step], expected: Problem
) -> None:
    """These are the refusals after which the same server is asked for less. The first events show nothing yet."""
    with ResponsesUpstream(script) as upstream:
        native = NativeResponses(upstream.url)
        with pytest.raises(UpstreamRefused) as refused:
            await anext(native.open(ASK))
        await native.close()
    assert refused.value.problem == expected


async def test_first_events_are_not_held_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_events, "HELD", 0.1)
    failed = ends(status="failed", error=TOO_LARGE)
    script: list[Step] = [*OPENING, Pause(0.4), failed]
    assert await read_answer(*script) == ([*OPENING, failed], None)
    often: list[Step] = [step for _ in range(5) for step in (OPENING[1], Pause(0.05))]
    received, _ = await read_answer(OPENING[0], *often, failed)
    assert len(received) > len(OPENING)


async def test_why_the_upstream_failed_is_cleaned() -> None:
    result = ends(status="failed", error={"code": "server_error", "message": f"{KEY} at 10.0.0.7:80 died"})
    events, problem = await read_answer(*begins(), result)
    assert problem is None
    assert events[-1]["response"]["error"] == {"code": "server_error", "message": "… at … died"}


@pytest.mark.parametrize("script", [[*HELLO[:4], Hang()], [Hang()]], ids=["in mid-stream", "before the head"])
async def test_a_consumer_that_is_cancelled_closes_the_upstream(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_body, "DRAIN_TIMEOUT", 60)  # a task that is still reading has no such time
    with ResponsesUpstream(script) as upstream:
        native = NativeResponses(upstream.url)
        consumer = asyncio.create_task(answers(native, ASK))
        while not upstream.asks:  # noqa: ASYNC110 — it happens in another thread
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        assert await asyncio.to_thread(upstream.asks[0].wait_gone)
        await native.close()


QUOTA = {"type": "error", "code": "insufficient_quota", "message": f"You exceeded it. {KEY}", "param": None}
FAILED = ends(status="failed", error={"code": "insufficient_quota", "message": "You exceeded it."})
WORDLESS = ends(status="failed", error=None)
USED_UP = Problem(
    code="insufficient_quota", message="The quota at the upstream is used up. Check its plan and billing."
)


@pytest.mark.parametrize(
    ("script", "events", "expected"),
    [
        ([*HELLO[:2], QUOTA, FAILED], [*HELLO[:2], FAILED], None),
        ([QUOTA, FAILED], [FAILED], None),
        ([*HELLO[:2], QUOTA, WORDLESS], [*HELLO[:2], WORDLESS], None),
        ([*HELLO[:2], QUOTA, End()], HELLO[:2], USED_UP),
        ([*HELLO[:2], QUOTA, Cut()], HELLO[:2], USED_UP),
        ([*HELLO[:2], QUOTA, *HELLO[2:]], HELLO[:2], USED_UP),
        ([*HELLO[:2], QUOTA, Latch()], HELLO[:2], USED_UP),
        ([*HELLO[:2], {"type": "error", "error": QUOTA}], HELLO[:2], USED_UP),
    ],
    ids=["with both", "at once", "its words in the error alone", "ended", "cut", "going on", "silent", "nested"],
)  # fmt: skip
async def test_an_error_keeps_its_code_and_the_failure_behind_it_is_read(
    script: list[Step], events: list[Json], expected: Problem | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI says `error`, then `response.failed`. Agents repeat what they take for a server's fault."""
    monkeypatch.setattr(response_events, "AFTER_AN_ERROR", 0.2)
    received, problem = await read_answer(*script)
    assert ([event["type"] for event in received], problem) == ([event["type"] for event in events], expected)
    if events[-1]["type"] == "response.failed":
        assert received[-1]["response"]["error"]["code"] == "insufficient_quota"
        assert KEY not in json.dumps(received)
