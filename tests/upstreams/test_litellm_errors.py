"""What goes wrong behind litellm, as problems."""

from typing import Any

import pytest

from app.protocol.problems import Problem
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.litellm_errors import problem_of, retry_seconds, short
from tests.script import breaks, says
from tests.upstream import Gate, Hang, Reset, Status, Step
from tests.upstream import anthropic as claude
from tests.upstream.gemini import answers as candidate
from tests.upstreams.lane import KEY, answers, asks, server

PROVIDERS = [None, "moonshot", "anthropic", "gemini"]

AUTH = Problem(
    code="upstream_auth_error", message="The upstream refused this server's key. Its operator must check the key."
)
QUOTA = Problem(code="insufficient_quota", message="The quota at the upstream is used up. Check its plan and billing.")
TOO_LONG = Problem(
    code="context_length_exceeded", message="The input is longer than this model's context window. Send less of it."
)
POLICY = Problem(
    code="content_policy_violation", message="The upstream refused the input because of its content policy."
)
SLOW = Problem(code="upstream_timeout", message="The upstream took too long to answer. Please try again.")
LARGE = Problem(code="request_too_large", message="The request is larger than the upstream accepts. Send less.")
UNREACHABLE = Problem(code="upstream_error", message="The upstream could not be reached.")


def busy(seconds: int) -> Problem:
    message = f"The upstream is receiving too many requests. Please try again in {seconds}s."
    return Problem(code="rate_limit_exceeded", message=message, retry_after=seconds)


async def fail(provider: str | None, *script: Step, timeout: float = 5) -> Problem | None:
    with server(provider, script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url, timeout=timeout)
        _, problem = await answers(chat, asks(provider))
        # litellm itself asks once more, and no option stops it, where a connection breaks before the answer
        assert len(upstream.asks) == 1 or isinstance(script[0], Reset), "nothing is retried here"
    return problem


def error(message: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "type": code or "some_error", "code": code or None, "param": None}}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Status(401, error(f"Incorrect API key provided: {KEY}")), AUTH),
        (Status(403, error(f"{KEY} may not use this model")), AUTH),
        (Status(400, error("API key not valid. Please pass a valid API key.")), AUTH),
        (Status(402, error("Insufficient Balance")), QUOTA),
        (Status(429, error("You exceeded your current quota", "insufficient_quota")), QUOTA),
        (Status(429, error("slow down"), {"retry-after": "7"}), busy(7)),
        (Status(429, error("slow down"), {"retry-after": "0.2"}), busy(1)),
        (Status(429, error("slow down"), {"retry-after-ms": "1200"}), busy(2)),
        (Status(429, error("slow down")), busy(5)),
        (Status(429, b"<html>busy</html>", {"content-type": "text/html"}), busy(5)),
        (Status(400, error("This model's maximum context length is 8192 tokens", "context_length_exceeded")), TOO_LONG),
        (Status(400, error("prompt is too long: 210000 tokens > 200000 maximum")), TOO_LONG),
        (Status(400, error("rejected by our safety system", "content_policy_violation")), POLICY),
        (Status(408, error("late")), SLOW),
        (Status(504, error("late")), SLOW),
        (Status(413, error("Request exceeds the maximum size")), LARGE),
        (Hang(), SLOW),
    ],
)
async def test_what_an_upstream_refuses_is_told_in_our_words(
    provider: str | None, step: Step, expected: Problem
) -> None:
    assert await fail(provider, step, timeout=0.3 if isinstance(step, Hang) else 5) == expected


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_unknown_model_is_told_by_its_name(provider: str | None) -> None:
    problem = await fail(provider, Status(404, error("nope")))
    name = asks(provider)["model"]
    assert problem == Problem(
        code="model_not_found",
        message=f"The upstream does not know the model '{name}', or its address is wrong.",
        param="model",
    )


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_ask_is_told_with_the_upstreams_reason(provider: str | None, status: int) -> None:
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
    assert (problem.code, problem.answer.status, problem.retry_after) == ("upstream_error", 502, None)
    assert problem.message.startswith("The upstream failed with status 5")
    assert problem.message.endswith(": Overloaded")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_upstream_that_is_not_there_is_told_so(provider: str | None) -> None:
    with server(provider) as upstream:
        gone = upstream.url
    assert await answers(LitellmChat(provider, api_key=KEY, base_url=gone), asks(provider)) == ([], UNREACHABLE)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_connection_reset_at_once_is_an_upstream_error(provider: str | None) -> None:
    problem = await fail(provider, Reset())
    assert problem is not None
    assert problem.code == "upstream_error"
    assert "127.0.0.1" not in problem.message


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (breaks("Internal error of node at 10.0.0.7:8000", 503), "The upstream failed with status 503: Internal error"),
        (breaks("too long: maximum context length is 10", 400), TOO_LONG.message),
        (breaks("slow down", 429), busy(5).message),
        (breaks("slow down", "rate_limit_exceeded"), busy(5).message),
        (breaks("bad key sk-1234567890", 401), AUTH.message),
        ({"error": "out of memory"}, "The upstream failed with status 500: out of memory"),
        (b"data: {nonsense\n\n", "The upstream did not answer as it must: a chunk of the stream is not JSON."),
        (b"data: [1]\n\n", "The upstream did not answer as it must: a chunk of the stream is not an object."),
    ],
)
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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><body>It works</body></html>", "the answer is neither a stream nor JSON"),
        (b'{"object":"list"}', "the answer is no chat completion"),
        (b"[]", "the answer is no chat completion"),
    ],
)
async def test_an_answer_that_is_no_stream_is_not_taken_for_an_empty_one(body: bytes, message: str) -> None:
    problem = await fail(None, Status(200, body))
    assert problem == Problem(code="upstream_error", message=f"The upstream did not answer as it must: {message}.")


async def test_an_error_with_status_200_is_an_error() -> None:
    problem = await fail(None, Status(200, error("slow down", "rate_limit_exceeded")))
    assert problem == busy(5)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_silence_in_mid_stream_is_a_timeout(provider: str | None) -> None:
    spoken: list[Step] = {
        "anthropic": claude.begins(),
        "gemini": [candidate({"text": "Hi"})],
    }.get(str(provider), [says("Hi")])  # type: ignore[assignment]  # a list of dicts is a list of steps
    assert await fail(provider, *spoken, Gate(), timeout=0.3) == SLOW


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 5),
        ({"Retry-After": "3"}, 3),
        ({"retry-after": "3.1"}, 4),
        ({"retry-after-ms": "1", "retry-after": "9"}, 1),
        ({"retry-after": "soon"}, 5),
        ({"retry-after": "inf"}, 5),
        ({"retry-after": "nan"}, 5),
        ({"retry-after": "-3"}, 1),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1),
    ],
)
def test_the_time_to_wait_is_read_in_every_form(headers: dict[str, str], seconds: int) -> None:
    assert retry_seconds(headers) == seconds


def test_a_date_to_wait_for_is_counted_from_now() -> None:
    assert retry_seconds({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}) > 1_000_000_000


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('litellm.BadRequestError: XException - {"error": {"message": "Too hot"}}', "Too hot"),
        ('b\'{"type":"error","error":{"type":"x","message":"Too hot"}}\'', "Too hot"),
        ('{"detail": "Too hot"}', "Too hot"),
        ("litellm.APIError: APIError: OpenAIException - Too hot", "Too hot"),
        ("<p>Too <b>hot</b></p>", "Too hot"),
        ("key sk-abcdefgh1234 and Bearer abc.def and api_key=xyz", "key … and … and …"),
        ("at http://10.1.2.3:80/x or 10.1.2.3:80 or db.internal:5432 or localhost:1", "at … or … or … or …"),
        ("x" * 39, "x" * 39),
        ("x" * 40, "…"),
        ("ab " * 400, "ab " * 166 + "a…"),
    ],
)
def test_what_an_upstream_wrote_is_shown_short_and_clean(written: str, shown: str) -> None:
    assert short(written) == shown


def test_the_key_that_was_sent_is_never_shown() -> None:
    assert short("bad: hunter2", "hunter2") == "bad: …"


def test_an_error_that_nobody_knows_is_an_upstream_error() -> None:
    assert problem_of(KeyError("choices"), model="m").code == "upstream_error"
