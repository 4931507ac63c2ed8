"""What goes wrong behind litellm, as problems."""

from typing import Any

import pytest

from app.protocol.problems import Problem
from app.upstreams.http_chat import HttpChat
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.native_responses import NativeResponses
from app.upstreams.port import UpstreamRefused
from tests.support.upstream_asks import KEY, answers, asks, server
from tests.support.upstream_refusals import (
    IN_STREAM,
    NO_STREAMS,
    QUOTA,
    REFUSALS,
    SLOW,
    TOO_LONG,
    UNREACHABLE,
    busy,
    error,
)
from tests.wire.script import breaks, says
from tests.wire.servers import ChatUpstream, Hang, Latch, Reset, ResponsesUpstream, Status, Step
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

PROVIDERS = [None, "moonshot", "anthropic", "gemini"]


async def fail(provider: str | None, *script: Step, patience: float = 30) -> Problem | None:
    with server(provider, script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url, timeout=patience)
        _, problem = await answers(chat, asks(provider))
        # litellm itself asks once more, and no option stops it, where a connection breaks before the answer
        retries = provider is not None and isinstance(script[0], Reset)
        assert len(upstream.asks) == 1 or retries, "nothing is retried here"
    return problem


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("step", "expected"), REFUSALS)
async def test_what_an_upstream_refuses_is_reported_in_our_words(
    provider: str | None, step: Step, expected: Problem
) -> None:
    assert await fail(provider, step, patience=0.3 if isinstance(step, Hang) else 30) == expected


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_unknown_model_is_reported_by_its_name(provider: str | None) -> None:
    problem = await fail(provider, Status(404, error("nope")))
    name = asks(provider)["model"]
    assert problem == Problem(
        code="model_not_found",
        message=f"The upstream does not know the model '{name}', or its address is wrong.",
        param="model",
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_ask_is_reported_with_the_upstreams_reason(provider: str | None, status: int) -> None:
    written = f"temperature must be below 1 for {KEY}, see https://example.com/docs?key=abc"
    problem = await fail(provider, Status(status, error(written)))
    assert problem is not None
    assert problem.code == "invalid_value"
    assert problem.message.startswith("The upstream refused the request: temperature must be below 1 for ")
    assert "example.com" not in problem.message


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_failing_upstream_is_a_bad_gateway(provider: str | None, status: int) -> None:
    problem = await fail(provider, Status(status, error("Overloaded")))
    assert problem is not None
    assert (problem.code, problem.shape.status, problem.retry_after) == ("upstream_error", 502, None)
    assert problem.message.startswith("The upstream failed with status 5")
    assert problem.message.endswith(": Overloaded")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_upstream_that_is_not_there_is_reported(provider: str | None) -> None:
    with server(provider) as upstream:
        gone = upstream.url
    assert await answers(LitellmChat(provider, api_key=KEY, base_url=gone), asks(provider)) == ([], UNREACHABLE)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_connection_reset_at_once_is_an_upstream_error(provider: str | None) -> None:
    problem = await fail(provider, Reset())
    assert problem is not None
    assert problem.code == "upstream_error"
    assert "127.0.0.1" not in problem.message


@pytest.mark.parametrize(("step", "expected"), IN_STREAM)
@pytest.mark.parametrize("early", [True, False], ids=["at once", "in mid-stream"])
@pytest.mark.parametrize("provider", [None, "moonshot"])
async def test_an_error_inside_a_stream_is_a_problem(
    provider: str | None, step: Step, expected: str, *, early: bool
) -> None:
    """At once it is a refusal, later a break: `answers` checks which."""
    problem = await fail(provider, *([] if early else [says("Hi")]), step)
    assert problem is not None
    assert problem.message.startswith(expected)
    assert "10.0.0.7" not in problem.message


@pytest.mark.parametrize(
    ("provider", "script", "expected"),
    [
        (
            "anthropic",
            [*claude.begins(), {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
            "upstream_error",
        ),
        ("gemini", [candidate({"text": "Hi"}), {"error": {"code": 429, "message": "slow"}}], "rate_limit_exceeded"),
        ("gemini", [{"error": {"code": 503, "message": "down", "status": "UNAVAILABLE"}}], "upstream_error"),
        ("groq", [says("Hi"), breaks("no", 503)], "upstream_error"),
    ],
)
async def test_an_error_inside_a_translated_stream_is_a_problem(
    provider: str, script: list[Step], expected: str
) -> None:
    problem = await fail(provider, *script)
    assert problem is not None
    assert problem.code == expected


@pytest.mark.parametrize(("body", "message"), NO_STREAMS)
async def test_an_answer_that_is_no_stream_is_not_taken_for_an_empty_one(body: bytes, message: str) -> None:
    problem = await fail(None, Status(200, body))
    assert problem == Problem(code="upstream_error", message=f"The upstream sent an invalid answer: {message}.")


async def test_an_error_with_status_200_is_an_error() -> None:
    problem = await fail(None, Status(200, error("slow down", "rate_limit_exceeded")))
    assert problem == busy(5)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_silence_in_mid_stream_is_a_timeout(provider: str | None) -> None:
    chat_turn: list[Step] = {
        "anthropic": claude.begins(),
        "gemini": [candidate({"text": "Hi"})],
    }.get(str(provider), [says("Hi")])  # type: ignore[assignment]  # a list of dicts is a list of steps
    assert await fail(provider, *chat_turn, Latch(), patience=0.3) == SLOW


@pytest.mark.parametrize(
    "body",
    [
        b"<html><head><title>502</title></head><body>nginx, our data centre 7, ask Bob</body></html>",
        b"upstream connect error or disconnect/reset before headers, ask Bob",
        b'["ask Bob"]',
        b'"ask Bob"',
        b"{ask Bob",
    ],
)
@pytest.mark.parametrize("status", [400, 500, 502])
@pytest.mark.parametrize("lane", ["chat", "responses", *PROVIDERS, "llamafile"])
async def test_a_page_is_named_by_its_status_alone(lane: str | None, status: int, body: bytes) -> None:
    step = Status(status, body, {"content-type": "text/html"})
    if lane in {"chat", "responses"}:
        with ChatUpstream([step]) if lane == "chat" else ResponsesUpstream([step]) as upstream:
            own = (HttpChat if lane == "chat" else NativeResponses)(upstream.url, api_key=KEY)
            ask = asks() if lane == "chat" else {"model": "m", "input": "Hi", "stream": True, "store": False}
            _, problem = await answers(own, ask)
            await own.close()
    else:
        problem = await fail(lane, step)
    assert problem is not None
    words = "The upstream refused the request." if status == 400 else "The upstream failed with status 50"
    assert problem.message.startswith(words)
    assert len(problem.message) <= len(words) + 2


MINUTE = "You exceeded your current quota, please check your plan and billing details. Please retry in 47.2s."
PROJECTOR = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"


@pytest.mark.parametrize("provider", [None, "gemini", "llamafile"])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Status(429, {"error": {"code": 429, "message": MINUTE, "status": "RESOURCE_EXHAUSTED"}}), busy(48)),
        (
            Status(
                429,
                {
                    "error": {
                        "code": 429,
                        "message": "You exceeded your current quota.",
                        "status": "RESOURCE_EXHAUSTED",
                        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}],
                    }
                },
            ),
            busy(31),
        ),
        (Status(429, error("You exceeded your current quota, check your plan")), QUOTA),
        (Status(429, error("You exceeded your current quota. Try again in 3s", "insufficient_quota")), QUOTA),
        (Status(400, error("prompt too long; exceeded max context length by 12 tokens")), TOO_LONG),
        (Status(400, error("The total length of all messages is too long.")), TOO_LONG),
        (Status(400, error("Input Tokens Exceeded: Number of input tokens exceeds maximum length")), TOO_LONG),
        (
            Status(500, {"error": {"code": 500, "message": PROJECTOR, "type": "server_error"}}),
            Problem(code="invalid_value", message=f"The upstream refused the request: {PROJECTOR}"),
        ),
    ],
    ids=["minute", "delay", "quota", "OpenAI's quota", "Ollama", "Perplexity", "Nova", "projector"],
)
async def test_what_providers_say_in_their_own_way_is_known_on_every_lane(
    provider: str | None, step: Step, expected: Problem
) -> None:
    assert await fail(provider, step) == expected
    with ChatUpstream([step]) as upstream:
        chat = HttpChat(upstream.url, api_key=KEY)
        assert (await answers(chat, asks()))[1] == expected
        await chat.close()


async def test_openais_400_for_a_model_that_does_not_exist_is_an_unknown_model() -> None:
    result = {"message": "The requested model 'nope' does not exist.", "type": "invalid_request_error"}
    step = Status(400, {"error": {**result, "param": "model", "code": "model_not_found"}})
    with ResponsesUpstream([step]) as upstream:
        native = NativeResponses(upstream.url, api_key=KEY)
        _, problem = await answers(native, {"model": "nope", "input": "Hi", "stream": True, "store": False})
        await native.close()
    assert problem == Problem(code="model_not_found", message=result["message"], param="model")


async def test_an_empty_error_in_every_chunk_is_none() -> None:
    chunk: dict[str, Any] = {"choices": [], "error": None, "usage": {"prompt_tokens": 1}}
    with server(None, [says("Hi", finish="stop") | {"error": None}, chunk]) as upstream:
        chunks, problem = await answers(LitellmChat(base_url=upstream.url), asks())
    assert (len(chunks), problem) == (2, None)


async def test_a_provider_that_litellm_does_not_know_is_the_operators_mistake() -> None:
    chat = LitellmChat("nosuchprovider", api_key=KEY)
    with pytest.raises(UpstreamRefused) as caught:
        await anext(chat.open({"model": "m", "messages": []}))
    assert caught.value.problem == Problem(
        code="upstream_error",
        message="This server's configuration names the provider 'nosuchprovider', which litellm does not know.",
    )
