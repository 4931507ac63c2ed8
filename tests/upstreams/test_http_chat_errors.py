"""What goes wrong with a chat server spoken to directly: the same problems as behind litellm, in the same words."""

import asyncio
import logging
from contextlib import aclosing

import pytest

from app.protocol.problems import Problem
from app.upstreams.port import UpstreamBroke, UpstreamRefused
from tests.support.http_chat import direct, read_answer
from tests.support.upstream_asks import KEY, answer_of, answers, asks
from tests.support.upstream_refusals import IN_STREAM, NO_STREAMS, REFUSALS, SLOW, UNREACHABLE, busy, error
from tests.wire.script import chunk, says, stops
from tests.wire.servers import ChatUpstream, Cut, Hang, Latch, LongLine, Pause, Reset, Status, Step

BROKE = Problem(code="upstream_error", message="The connection to the upstream broke off.")


def as_it_must(how: str) -> Problem:
    return Problem(code="upstream_error", message=f"The upstream sent an invalid answer: {how}.")


@pytest.mark.parametrize(("step", "expected"), REFUSALS)
async def test_what_an_upstream_refuses_is_reported_in_our_words(step: Step, expected: Problem) -> None:
    assert await read_answer(step, patience=0.3 if isinstance(step, Hang) else 5) == ([], expected)


async def test_an_unknown_model_is_reported_by_its_name() -> None:
    assert await read_answer(Status(404, error("nope"))) == (
        [],
        Problem(
            code="model_not_found",
            message="The upstream does not know the model 'm', or its address is wrong.",
            param="model",
        ),
    )


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_ask_is_reported_with_the_upstreams_reason_without_keys_and_addresses(status: int) -> None:
    written = f"temperature must be below 1 for {KEY}, see https://example.com/docs?key=abc"
    _, problem = await read_answer(Status(status, error(written)))
    message = "The upstream refused the request: temperature must be below 1 for …, see …"
    assert problem == Problem(code="invalid_value", message=message)


@pytest.mark.parametrize("status", [302, 418, 500, 502, 503, 529])
async def test_a_failing_upstream_is_a_bad_gateway(status: int) -> None:
    message = f"The upstream failed with status {status}: Overloaded"
    assert await read_answer(Status(status, error("Overloaded"))) == (
        [],
        Problem(code="upstream_error", message=message),
    )


async def test_of_a_long_error_only_the_beginning_is_read() -> None:
    _, problem = await read_answer(Status(500, b"no " * 10_000_000))
    assert problem is not None
    assert len(problem.message) < 600


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "http://no-such-host.invalid/v1"])
async def test_an_upstream_that_is_not_there_is_reported(url: str) -> None:
    async with direct(url) as chat:
        assert await answers(chat, asks()) == ([], UNREACHABLE)


async def test_an_upstream_without_tls_behind_a_secure_address_is_reported() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        async with direct(f"https://127.0.0.1:{port}/v1") as chat:
            _, problem = await answers(chat, asks())
    message = "The upstream could not be reached: no secure connection to it can be made."
    assert problem == Problem(code="upstream_error", message=message)


@pytest.mark.parametrize(
    ("script", "text", "expected"),
    [
        ([Reset()], None, BROKE),
        ([says("Hi"), Cut()], "Hi", BROKE),
        ([says("Hi"), Reset()], "Hi", BROKE),
        ([says("Hi"), stops(), Cut()], "Hi", BROKE),
        ([says("Hi"), Latch()], "Hi", SLOW),
        ([says("Hi"), LongLine(50 * 1024 * 1024)], "Hi", as_it_must("a line of the stream is too long")),
        ([Status(200, b"\x1f\x8b", {"content-encoding": "gzip"})], None, as_it_must("the answer is compressed")),
    ],
    ids=["reset at once", "cut", "reset", "cut behind the finish", "silence", "a line of 50 MB", "compressed"],
)
async def test_a_stream_that_breaks_is_reported(script: list[Step], text: str | None, expected: Problem) -> None:
    chunks, problem = await read_answer(*script, patience=0.5 if expected is SLOW else 30)
    assert (answer_of(chunks).get("text"), problem) == (text, expected)


@pytest.mark.parametrize(("step", "expected"), IN_STREAM)
@pytest.mark.parametrize("early", [True, False], ids=["at once", "in mid-stream"])
async def test_an_error_inside_a_stream_is_a_problem(step: Step, expected: str, *, early: bool) -> None:
    """At once it is a refusal, later a break: `answers` checks which."""
    _, problem = await read_answer(*([] if early else [says("Hi")]), step)
    assert problem is not None
    assert problem.message.startswith(expected)
    assert "10.0.0.7" not in problem.message


async def test_an_error_beside_content_that_comes_alone_is_an_error() -> None:
    """And not a chunk with an error in it: the words of the upstream would be lost."""
    step = chunk({"index": 0, "delta": {"content": ""}}, error={"message": "Token limit reached"}, usage={"total": 1})
    chunks, problem = await read_answer(says("Hi"), Pause(0.05), step, Pause(0.05))
    assert [each for each in chunks if "error" in each] == []
    message = "The upstream failed with status 500: Token limit reached"
    assert problem == Problem(code="upstream_error", message=message)


@pytest.mark.parametrize(("body", "message"), NO_STREAMS)
async def test_an_answer_that_is_no_stream_is_not_taken_for_an_empty_one(body: bytes, message: str) -> None:
    assert await read_answer(Status(200, body)) == ([], as_it_must(message))


async def test_an_error_with_status_200_is_an_error() -> None:
    assert await read_answer(Status(200, error("slow down", "rate_limit_exceeded"))) == ([], busy(5))


async def test_an_answer_that_is_not_http_is_reported() -> None:
    class Rude(ChatUpstream):
        async def _answer(self, ask, script, writer):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG002 — the parent's
            writer.write(b"SSH-2.0-OpenSSH\r\n\r\n")
            return False

    with Rude([]) as upstream:
        async with direct(upstream.url) as chat:
            assert await answers(chat, asks()) == ([], as_it_must("the answer is not HTTP"))


async def test_no_traceback_holds_what_the_upstream_wrote(caplog: pytest.LogCaptureFixture) -> None:
    """It may have written our key."""
    with ChatUpstream([Status(401, error(KEY))]) as upstream:
        async with direct(upstream.url) as chat, aclosing(chat.open(asks())) as payloads:
            with pytest.raises(UpstreamRefused) as caught:
                await anext(payloads)
    logging.getLogger().error("refused", exc_info=caught.value)
    assert KEY not in caplog.text


async def test_a_connection_that_is_closed_under_an_answer_is_an_upstream_error() -> None:
    """The client library then raises a bare RuntimeError."""
    with ChatUpstream([says("Hi"), Hang()]) as upstream:
        async with direct(upstream.url) as chat, aclosing(chat.open(asks())) as payloads:
            assert answer_of([await anext(payloads)]) == {"text": "Hi"}
            await chat.close()
            with pytest.raises(UpstreamBroke) as caught:
                await anext(payloads)
    assert caught.value.problem == BROKE
