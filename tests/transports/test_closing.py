"""A client that goes away stops the upstream within a second, whatever it was doing. Real sockets throughout."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.upstreams.demo import Demo
from tests.support.serving import serving


class Watched:
    """Stands where the demo model would: speaks, or keeps silent, until it is closed."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.closed = threading.Event()
        self.silent = False

    async def open(self, _ask: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        self.asked.set()
        try:
            while True:
                await asyncio.sleep(60 if self.silent else 0.01)
                yield {"choices": [{"delta": {"content": "word "}}]}
        finally:
            self.closed.set()


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(Demo, "open", watched.open)
    return watched


@pytest.fixture
def address(upstream: Watched) -> Iterator[tuple[str, int]]:
    assert not upstream.closed.is_set()
    with serving() as url:
        parts = urlsplit(url)
        yield str(parts.hostname), int(parts.port or 0)


def post(address: tuple[str, int], *, stream: bool) -> socket.socket:
    body = json.dumps({"model": "demo", "input": "Hi", "stream": stream}).encode()
    client = socket.create_connection(address, timeout=5)
    head = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    client.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body)
    return client


def test_a_stream_that_is_read_and_then_left(upstream: Watched, address: tuple[str, int]) -> None:
    client = post(address, stream=True)
    seen = b""
    while b"output_text.delta" not in seen:
        seen += client.recv(4096)
    client.close()
    assert upstream.closed.wait(1)


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_that_is_left_before_the_upstream_spoke(
    upstream: Watched, address: tuple[str, int], *, stream: bool
) -> None:
    upstream.silent = True
    client = post(address, stream=stream)
    assert upstream.asked.wait(2)
    client.close()
    assert upstream.closed.wait(1)


def test_a_whole_answer_that_nobody_waits_for(upstream: Watched, address: tuple[str, int]) -> None:
    client = post(address, stream=False)
    assert upstream.asked.wait(2)
    assert not upstream.closed.wait(0.1)
    client.close()
    assert upstream.closed.wait(1)


def test_a_reset_connection(upstream: Watched, address: tuple[str, int]) -> None:
    client = post(address, stream=True)
    assert upstream.asked.wait(2)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    client.close()
    assert upstream.closed.wait(1)
