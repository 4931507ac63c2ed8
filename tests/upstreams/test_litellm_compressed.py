"""What a server sends compressed although nobody asked for that: it is not unpacked, for it may unpack to anything."""

import gzip
import time
from collections.abc import Callable

import pytest

from app.protocol.problems import Problem
from app.upstreams.litellm_chat import LitellmChat, close_connections
from tests.support.upstream_asks import KEY, Lenient, answers, asks
from tests.wire.servers import Status

PACKED = {"content-encoding": "gzip"}
NOT_READ = "The upstream sent an invalid answer: the answer is neither a stream nor JSON."


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, lambda: b"data: " + b" " * 50_000_000, Problem(code="upstream_error", message=NOT_READ)),
        (
            200,
            lambda: b'{"choices": [{"message": {"content": "Hi"}}]}',
            Problem(code="upstream_error", message=NOT_READ),
        ),
        (
            400,
            lambda: b'{"error": {"message": "' + b"sk-" * 10_000_000 + b'"}}',
            Problem(code="invalid_value", message="The upstream refused the request."),
        ),
        (
            500,
            lambda: b'{"error": {"message": "' + b"Error: " * 10_000_000 + b'"}}',
            Problem(code="upstream_error", message="The upstream failed with status 500."),
        ),
    ],
    ids=["a stream", "a whole answer", "a refusal", "a failure"],
)
@pytest.mark.parametrize("provider", [None, "hosted_vllm"])
async def test_a_compressed_answer_is_not_unpacked(
    provider: str | None, status: int, body: Callable[[], bytes], expected: Problem
) -> None:
    with Lenient([Status(status, gzip.compress(body()), PACKED)]) as upstream:
        try:
            chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url)
            began = time.process_time()
            assert await answers(chat, asks()) == ([], expected)
            assert time.process_time() - began < 5, "what was sent is some kilobytes"
        finally:
            await close_connections()
    assert [ask.headers["accept-encoding"] for ask in upstream.asks] == ["identity"]
