"""A server of the Messages API that is asked directly: headers, streams, whole answers, errors and counts."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from app.upstreams.http_messages import BINDING_BETA, HttpMessages
from app.upstreams.port import Counted, UpstreamRefused
from tests.support.upstream_asks import KEY, answers
from tests.wire.servers import AnthropicUpstream, Ask, Cut, Script, Status
from tests.wire.servers.anthropic import COUNTED, begins, ends, text

Json = dict[str, Any]

ASK: Final[Json] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    "stream": True,
}
HI: Final = [*begins(), *text(0, "Hi"), *ends()]
OVERLOADED: Final = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


class CountingUpstream(AnthropicUpstream):
    """The same server at the address at which it counts, as a script says."""

    counts = False

    def faults(self, ask: Ask) -> list[str]:
        """Say what it would refuse."""
        return [f"unknown parameter {key}" for key in ask.body if key not in COUNTED]


@asynccontextmanager
async def direct(upstream: AnthropicUpstream, **settings: Any) -> AsyncIterator[HttpMessages]:
    """A client of this server."""
    client = HttpMessages(f"{upstream.url}/v1", api_key=KEY, **settings)
    try:
        yield client
    finally:
        await client.close()


def kinds(events: list[Json]) -> list[str]:
    """The types of these events."""
    return [event["type"] for event in events]


async def test_events_are_passed_on_without_pings() -> None:
    with AnthropicUpstream(HI) as upstream:
        async with direct(upstream) as client:
            events, problem = await answers(client, ASK)
    assert problem is None
    assert kinds(events) == [kind for kind in kinds(HI) if kind != "ping"]


@pytest.mark.parametrize(
    ("settings", "key", "ask", "headers"),
    [
        ({}, None, ASK, {"x-api-key": KEY, "authorization": None, "anthropic-beta": None}),
        ({"key_header": "authorization"}, None, ASK, {"authorization": f"Bearer {KEY}", "x-api-key": None}),
        ({}, "own", ASK, {"x-api-key": "own", "authorization": None}),
        ({"key_header": "authorization"}, "own", ASK, {"authorization": "Bearer own"}),
        ({"betas": ("a-1", "b-2")}, None, ASK, {"anthropic-beta": "a-1,b-2"}),
        (
            {"betas": ("a-1",)},
            None,
            {**ASK, "thinking": {"type": "adaptive", "block_binding": {}}},
            {"anthropic-beta": f"a-1,{BINDING_BETA}", "anthropic-version": "2023-06-01"},
        ),
    ],
)
async def test_headers(settings: Json, key: str | None, ask: Json, headers: dict[str, str | None]) -> None:
    with AnthropicUpstream(HI) as upstream:
        upstream.may_violate = True  # it wants a header of its own
        async with direct(upstream, **settings) as client:
            try:
                async for _ in client.open(ask, key):
                    pass
            except UpstreamRefused:
                assert settings.get("key_header") == "authorization"
        got = upstream.asks[0].headers if upstream.asks else {}
    assert {name: got.get(name) for name in headers} == headers


async def test_an_answer_that_is_not_streamed_is_read_all_the_same() -> None:
    whole = {
        "type": "message",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    with AnthropicUpstream([Status(200, whole)]) as upstream:
        async with direct(upstream) as client:
            events, problem = await answers(client, ASK)
    assert problem is None
    assert kinds(events) == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


REFUSALS: Final[list[tuple[Script, str, str, float | None]]] = [
    ([Status(400, {"error": {"type": "invalid_request_error", "message": "No."}})], "invalid_value", "No.", None),
    ([Status(400, {"error": {"message": "prompt is too long: 9 > 8"}})], "context_length_exceeded", "longer", None),
    ([Status(401, {"error": {"type": "authentication_error"}})], "upstream_auth_error", "key", None),
    ([Status(404, {"error": {"type": "not_found_error"}})], "model_not_found", "does not know", None),
    ([Status(413, {"error": {"type": "request_too_large"}})], "request_too_large", "larger", None),
    ([Status(429, {}, {"retry-after": "7"})], "rate_limit_exceeded", "7s", 7),
    ([Status(500, {"error": {"type": "api_error"}})], "upstream_error", "500", None),
    ([Status(529, OVERLOADED)], "upstream_error", "529", 0),
    ([OVERLOADED], "upstream_error", "529: Overloaded", 0),
    ([*begins(), OVERLOADED], "upstream_error", "529: Overloaded", 0),
    ([Status(200, b"<html>")], "upstream_error", "neither a stream nor JSON", None),
    ([Status(200, {"object": "x"})], "upstream_error", "no message", None),
    ([b"data: 1\n\n"], "upstream_error", "not an object", None),
    ([b"data: {\n\n"], "upstream_error", "not JSON", None),
]


@pytest.mark.parametrize(("script", "code", "message", "wait"), REFUSALS)
async def test_a_refusal_is_known_before_the_answer_begins(
    script: Script, code: str, message: str, wait: float | None
) -> None:
    with AnthropicUpstream(script) as upstream:
        async with direct(upstream) as client:
            with pytest.raises(UpstreamRefused) as raised:
                await anext(client.open(ASK))
    assert (raised.value.problem.code, raised.value.wait) == (code, wait)
    assert message in raised.value.problem.message


async def test_an_error_within_an_answer_is_reported() -> None:
    with AnthropicUpstream([*begins(), *text(0, "Hi"), OVERLOADED]) as upstream:
        async with direct(upstream) as client:
            events, problem = await answers(client, ASK)
    assert len(events) == 4
    assert problem is not None
    assert "Overloaded" in problem.message


async def test_an_answer_that_is_cut_ends_without_its_end() -> None:
    with AnthropicUpstream([*begins(), *text(0, "Hi"), Cut()]) as upstream:
        async with direct(upstream) as client:
            events, problem = await answers(client, ASK)
    assert "message_stop" not in kinds(events)
    assert problem is not None


async def test_tokens_are_counted_by_the_server() -> None:
    ask = {**ASK, "system": [{"type": "text", "text": "A."}], "temperature": 0, "metadata": {"user_id": "u"}}
    with CountingUpstream([Status(200, {"input_tokens": 42})], [Status(404, {})]) as upstream:
        async with direct(upstream) as client:
            counted = [await client.count(ask) for _ in range(3)]
        [first, second] = upstream.asks
    assert counted == [Counted(42, by_upstream=True), None, None]
    assert first.path == second.path == "/v1/messages/count_tokens"
    assert json.loads(first.raw).keys() == {"model", "messages", "system"}
