"""Why an upstream failed, in the words for its operator: on every lane, and without secrets."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from app.protocol.problems import Problem
from app.upstreams.causes import Cause, explained, of_connection, of_problem, shown_address
from app.upstreams.error_keys import without_keys
from app.upstreams.faults import BROKE_OFF, NOT_HTTP, UNREACHABLE
from app.upstreams.http_messages import HttpMessages
from app.upstreams.port import UpstreamPort, UpstreamRefused
from tests.support.upstream_asks import KEY
from tests.support.upstream_lanes import client, server
from tests.support.upstream_refusals import error
from tests.wire.script import breaks
from tests.wire.servers import AnthropicUpstream, Hang, ScriptedUpstream, Status, Step

Json = dict[str, Any]

pytestmark = pytest.mark.xdist_group("litellm")
LANES = ["chat", "responses", "messages", "as is"]
ADDRESS = "https://user:hunter2@10.0.0.7:8000/v1?key=AIzaSyA1234567890"
LEAKY = f"Incorrect API key provided: {KEY} (sent to {ADDRESS} with Bearer {KEY})"
TOO_LONG = "This model's maximum context length is 8192 tokens. However, you requested 20311 tokens."
REFUSALS: list[tuple[Step, Cause]] = [
    (Status(401, error(LEAKY)), Cause("key", "answered 401: Incorrect API key provided: … (sent to … with Bearer …)")),
    (Status(400, error(TOO_LONG, "context_length_exceeded")), Cause("too_long", f"answered 400: {TOO_LONG}")),
    (Status(402, error("Pay first")), Cause("quota", "answered 402: Pay first")),
    (Status(429, error("Slow down")), Cause("busy", "answered 429: Slow down")),
    (Status(500, error("CUDA out of memory")), Cause("failed", "answered 500: CUDA out of memory")),
    (Status(503, b"<html>secret page</html>"), Cause("failed", "answered 503")),
    (Hang(), Cause("silent", "took too long to answer")),
]


def server_of(lane: str, step: Step) -> ScriptedUpstream:
    """A server that answers so."""
    return AnthropicUpstream([step]) if lane == "messages" else server(lane, [step])


@asynccontextmanager
async def messages_client(url: str, patience: float) -> AsyncIterator[tuple[UpstreamPort[Json, Json], Json]]:
    """The same as `client`, for the Messages API."""
    upstream = HttpMessages(url.removesuffix("/v1") + "/v1", api_key=KEY, timeout=patience)
    try:
        yield upstream, {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    finally:
        await upstream.close()


async def cause_of(lane: str, url: str, *, patience: float = 5) -> Cause:
    """The cause of a refusal or a break."""
    asking = messages_client(url, patience) if lane == "messages" else client(lane, url, timeout=patience)
    async with asking as (upstream, ask), aclosing(upstream.open(ask)) as payloads:
        try:
            async for _ in payloads:
                pass
        except UpstreamRefused as refused:
            return refused.cause
    raise AssertionError


@pytest.mark.parametrize("lane", LANES)
async def test_what_an_upstream_answers_is_the_cause_without_keys_and_addresses(lane: str) -> None:
    for step, expected in REFUSALS:
        with server_of(lane, step) as upstream:
            cause = await cause_of(lane, upstream.url, patience=0.5 if isinstance(step, Hang) else 5)
        if lane == "as is":  # litellm's errors of this kind have no body
            cause = cause._replace(words=cause.words.replace("failed with status", "answered"))
        assert cause == expected


@pytest.mark.parametrize("lane", LANES)
async def test_an_unknown_model_is_reported_in_the_upstreams_words(lane: str) -> None:
    with server_of(lane, Status(404, error("model 'm' not found, try pulling it first"))) as upstream:
        cause = await cause_of(lane, upstream.url)
    assert cause == Cause("model", "answered 404: model 'm' not found, try pulling it first")


@pytest.mark.parametrize("lane", ["chat", "as is"])
async def test_an_error_in_place_of_an_answer_is_the_cause(lane: str) -> None:
    with server(lane, [breaks("out of memory", 500)]) as upstream:
        assert await cause_of(lane, upstream.url) == Cause("failed", "reported an error: out of memory")


@asynccontextmanager
async def plain_server() -> AsyncIterator[int]:
    """The port of a server that answers a TLS handshake in plain text."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as plain:
        yield plain.sockets[0].getsockname()[1]


@pytest.mark.parametrize("lane", LANES)
async def test_a_connection_that_cannot_be_made_has_its_cause(lane: str) -> None:
    refused = Cause("refused", "refused the connection")
    nameless = Cause("name", "cannot be found: its name has no address")
    assert await cause_of(lane, "http://127.0.0.1:1/v1") == refused
    assert await cause_of(lane, "http://no-such-host.invalid/v1") == nameless
    async with plain_server() as port:
        assert await cause_of(lane, f"https://127.0.0.1:{port}/v1") == Cause(
            "tls", "makes no secure connection: wrong version number"
        )


class ClientConnectorError(OSError):
    """aiohttp's, as far as it is looked at."""


class ClientProxyConnectionError(ClientConnectorError):
    """The same."""


class ConnectionTimeoutError(ClientConnectorError, TimeoutError):
    """The same."""


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            chained(ClientConnectorError(), untrusted()),
            ("tls", "has no valid certificate: self-signed certificate"),
        ),
        (chained(ClientConnectorError(), OSError(113, "x")), ("unreachable", "cannot be reached: no route to host")),
        (ConnectionTimeoutError(), ("unreachable", "accepted no connection in time")),
        (ClientConnectorError("anything with 10.0.0.7"), ("unreachable", "cannot be reached")),
        (
            chained(ClientProxyConnectionError(), ConnectionRefusedError()),
            ("refused", "is asked through a proxy, as the environment says, which refused the connection"),
        ),
    ],
    ids=["certificate", "route", "time", "unknown", "proxy"],
)
def test_errors_of_the_system_are_causes(error: Exception, expected: tuple[str, str]) -> None:
    assert of_connection(error) == expected


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (BROKE_OFF, Cause("broke_off", "broke off the connection")),
        (NOT_HTTP, Cause("failed", "sent an invalid answer: the answer is not HTTP")),
        (UNREACHABLE, Cause("failed", "could not be reached")),
        (
            Problem(code="upstream_error", message="This server lacks it."),
            Cause("failed", "failed: This server lacks it."),
        ),
    ],
)
def test_a_problem_is_its_own_cause_where_nothing_else_is_known(problem: Problem, expected: Cause) -> None:
    assert of_problem(problem) == expected


HERE = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("problem", "cause", "address", "message"),
    [
        (
            UNREACHABLE,
            Cause("refused", "refused the connection"),
            HERE,
            f"The upstream at {HERE} refused the connection. Is it running?",
        ),
        (
            Problem(code="upstream_error", message="The upstream failed with status 500: No."),
            Cause("failed", "answered 500: No."),
            "",
            "The upstream there answered 500: No.",
        ),
        (
            Problem(code="upstream_auth_error", message="Refused."),
            Cause("key", "answered 401: Bad key sk-1"),
            HERE,
            f"Refused. The upstream at {HERE} answered 401.",
        ),
        (
            Problem(code="context_length_exceeded", message="Too long."),
            Cause("too_long", "answered 400: 9 > 8"),
            HERE,
            f"Too long. The upstream at {HERE} answered 400: 9 > 8.",
        ),
        (
            Problem(code="upstream_error", message="This server lacks it."),
            Cause("setup", "cannot be asked: This server lacks it. (ImportError)"),
            HERE,
            "This server lacks it.",
        ),
        (Problem(code="invalid_value", message="Too warm."), Cause("request", "answered 400"), HERE, "Too warm."),
        (
            Problem(code="overloaded", message="It is left alone.", retry_after=3),
            Cause("refused", "refused the connection"),
            HERE,
            f"It is left alone. The upstream at {HERE} refused the connection. Is it running?",
        ),
    ],
)
def test_a_problem_is_explained(problem: Problem, cause: Cause, address: str, message: str) -> None:
    told = explained(problem, cause, "there", address)
    assert (told.message, told.code, told.retry_after) == (message, problem.code, problem.retry_after)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("https://user:hunter2@host.example/v1?key=hunter2#hunter2", "https://host.example/v1"),
        (f"https://host.example/{KEY}/v1", "https://host.example/…/v1"),
        ("https://host.example/sk-abcdefgh12345678/v1", "https://host.example/…/v1"),
    ],
)
def test_an_address_is_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_address(url, KEY) == shown
    assert without_keys(shown) == shown
