"""What litellm's errors mean: known by their names, their status and their words; how long to wait; what is shown."""

import pytest
from aiohttp import ConnectionTimeoutError, SocketTimeoutError

from app.protocol.problems import Problem
from app.upstreams.causes import of_problem
from app.upstreams.faults import retry_seconds, short
from app.upstreams.http_server import HttpServer
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.litellm_errors import problem_of, timed_out
from app.upstreams.port import UpstreamRefused
from tests.support.upstream_asks import asks


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
        ('{"error": {"message": "Too hot"}}', "Too hot"),
        ('{"detail": "Too hot"}', "Too hot"),
        ("Too hot", "Too hot"),
        (
            "No item 'rs_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071'",
            "No item 'rs_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071'",
        ),
        (
            "Model not found: grok-nonexistent-model-for-identity-edge",
            "Model not found: grok-nonexistent-model-for-identity-edge",
        ),
        ("Key 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d refused", "Key … refused"),
        ("Key AbCdEfGhIjKl-MnOpQrStUvWx-YzAbCdEfGh-IjKlMn refused", "Key … refused"),
        ("Key 550e8400-e29b-41d4-a716-446655440000-e29b-41d4 refused", "Key … refused"),
        ("<p>Too <b>hot</b></p>", "Too hot"),
        ("key sk-abcdefgh1234 and Bearer abc.def and api_key=xyz", "key … and … and …"),
        ("at http://10.1.2.3:80/x or 10.1.2.3:80 or db.internal:5432 or localhost:1", "at … or … or … or …"),
        ("x" * 39, "x" * 39),
        ("x" * 40, "…"),
        ("ab " * 400, "ab " * 166 + "a…"),
        ('Failed.\nTraceback (most recent call last):\n  File "/srv/x.py", line 1', "Failed."),
        ("Error: no\n    at Server.run (/srv/x.js:1:2)", "Error: no"),
        ("panic: no\n\ngoroutine 1 [running]:\nmain.main()", "panic: no"),
        ("a-" * 10_000, "…"),
    ],
)
def test_what_an_upstream_wrote_is_shown_short_and_clean(written: str, shown: str) -> None:
    assert short(written) == shown


def test_the_key_that_was_sent_is_never_shown() -> None:
    assert short("bad: hunter2", "hunter2") == "bad: …"


class ContextWindowExceededError(Exception):
    """litellm's, as far as it is looked at."""


class ContentPolicyViolationError(Exception):
    """litellm's, as far as it is looked at."""


class MidStreamFallbackError(Exception):
    """litellm's, as far as it is looked at."""

    def __init__(self, original_exception: Exception) -> None:
        self.original_exception = original_exception


class RawError(Exception):
    """A provider's own, as it comes out of a raw stream."""

    def __init__(self, status_code: object, message: object, **more: object) -> None:
        self.status_code = status_code
        self.message = message
        vars(self).update(more)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (KeyError("choices"), "upstream_error"),
        (ContextWindowExceededError(), "context_length_exceeded"),
        (ContentPolicyViolationError(), "content_policy_violation"),
        (MidStreamFallbackError(RawError(401, "no")), "upstream_auth_error"),
        (RawError("429", b"slow down"), "rate_limit_exceeded"),
        (RawError(None, "", code=404), "model_not_found"),
        (RawError(None, "", code="404"), "model_not_found"),
        (RawError(99, "odd"), "upstream_error"),
        (RawError(400, "no", body={"code": "context_length_exceeded"}), "context_length_exceeded"),
        (TimeoutError(), "upstream_timeout"),
        (RawError(500, "Cannot connect to host"), "upstream_error"),
        (RawError(418, "{"), "upstream_error"),
    ],
)
def test_an_error_is_known_by_its_name_its_status_or_its_words(raised: Exception, expected: str) -> None:
    assert problem_of(raised, model="m").code == expected


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (TimeoutError(), True),
        (ConnectionTimeoutError(), True),
        (MidStreamFallbackError(SocketTimeoutError()), True),
        (RawError(504, "no"), False),
        (RawError(408, "no"), False),
        (ConnectionRefusedError(), False),
    ],
    ids=repr,
)
def test_a_time_out_of_ours_is_known_from_one_that_a_server_reports(*, raised: Exception, expected: bool) -> None:
    assert timed_out(raised) is expected
    if not isinstance(raised, RawError | MidStreamFallbackError):
        problem = Problem(code="upstream_error", message="")
        assert HttpServer.refused(raised, problem, of_problem(problem)).timed_out is expected


class OpenAIError(Exception):
    """The SDK's, as far as it is looked at."""


class NoCredentialsError(Exception):
    """botocore's, as far as it is looked at."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ModuleNotFoundError("No module named 'google'"), ("upstream_error", "lacks a library")),
        (OpenAIError("Missing credentials"), ("upstream_auth_error", "has no key")),
        (NoCredentialsError("Unable to locate credentials"), ("upstream_auth_error", "has no credentials")),
        (ValueError("items must be a schema"), ("invalid_value", "The request cannot be put")),
    ],
)
def test_what_the_operator_must_mend_is_not_the_clients_fault(raised: Exception, expected: tuple[str, str]) -> None:
    """litellm wraps each of them in an error of its own."""  # noqa: D403 — its name
    wrapped = RawError(500, "litellm.APIConnectionError")
    wrapped.__cause__ = raised
    problem = problem_of(wrapped, model="m", asked=False)
    code, words = expected
    assert problem.code == code
    assert problem.message.removeprefix("This server ").startswith(words)
    assert str(raised) not in problem.message


@pytest.mark.parametrize(
    ("provider", "code", "class_name"),
    [("sagemaker", "upstream_auth_error", "NoCredentialsError"), ("azure", "upstream_error", "ValueError")],
)
async def test_missing_settings_of_a_provider_are_reported_and_their_cause_names_the_class(
    provider: str, code: str, class_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AZURE_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with pytest.raises(UpstreamRefused) as raised:
        await anext(LitellmChat(provider).open(asks()))
    problem, cause = raised.value.problem, raised.value.cause
    assert (problem.code, problem.shape.status) == (code, 502)
    assert cause == ("setup", f"cannot be asked: {problem.message} ({class_name})")


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("half a \ud83d", "half a \ufffd"),
        ("\ude00 late", "\ufffd late"),
        ('{"message": "\\ud83d\\ude00 \\ud83d"}', "😀 \ufffd"),
    ],
)
def test_a_message_with_half_characters_can_be_written(expected: str, shown: str) -> None:
    assert short(expected) == shown
    assert short(expected).encode()
