"""What an answer of Cohere may cost: it is read here, not by litellm."""

from collections.abc import AsyncIterator

import pytest

from app.upstreams import litellm_cohere
from app.upstreams.chat_lines import NotAStreamError
from app.upstreams.sse_lines import TOO_MANY_VALUES
from tests.support.scan import peak_of

PIECE = 8192


class Response:
    """An HTTP response whose body comes in pieces."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), PIECE):
            yield self._body[start : start + PIECE]


def failed(body: bytes) -> str:
    """Why this is no answer."""
    reading = litellm_cohere.chunks(Response(body)).__anext__()
    with pytest.raises(NotAStreamError) as error:
        reading.send(None)  # it waits for nothing
    return str(error.value)


def test_lines_outside_of_the_stream_take_no_more_memory_than_they_are_long() -> None:
    body = b"x\n" * 60_000
    assert failed(body) == "the answer is neither a stream nor JSON"
    assert peak_of(lambda: failed(body)) < 512 * 1024 + 4 * len(body)


def test_an_event_has_so_many_values_at_most() -> None:
    assert failed(b'data: {"type": "x", "y": [' + b"[]," * 300_000 + b"[]]}\n\n") == TOO_MANY_VALUES
