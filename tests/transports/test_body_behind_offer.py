"""Requests that also offer HTTP/2: the offer is not taken up, and the body is read."""

import json
from collections.abc import Iterator

import pytest

from app.settings import Server, Settings
from tests.support.raw import send_raw
from tests.support.serving import serving

BODY = json.dumps({"model": "demo", "input": "Hi"}).encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
H2C = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
"""As the HTTP client of Java's JDK, and `curl --http2`, begin each request to a server that they do not know."""
CHUNKED = b"5\r\n%s\r\n%x\r\n%s\r\n0\r\nX-A: trailer\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
IN_ONE = [
    H2C + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    H2C + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    H2C + b"Content-Length: %d\r\n\r\n" % (len(BODY) + 9_000) + BODY + b" " * 9_000,
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server."""
    with serving(Settings(server=Server(header_timeout=2, body_timeout=2, max_body_bytes=20_000))) as url:
        yield url


@pytest.mark.parametrize("data", IN_ONE, ids=["a length", "chunks", "a long one"])
@pytest.mark.parametrize("size", [10_000_000, 700, 10, 1])
def test_a_request_that_also_offers_another_protocol_keeps_its_body(url: str, data: bytes, size: int) -> None:
    reply = send_raw(url, data[: len(H2C)], (data[at : at + size] for at in range(len(H2C), len(data), size)))
    assert (reply.status, reply.answers, reply.closed) == (200, 1, True)
    assert reply.json["output"][0]["content"][0]["text"]


def test_the_body_behind_an_offer_is_limited_like_any_other(url: str) -> None:
    head = H2C + b"Content-Length: 30000\r\n\r\n"
    reply = send_raw(url, head, (b" " * 10_000 for _ in range(3)))
    assert (reply.status, reply.json["error"]["code"]) == (413, "request_too_large")
    reply = send_raw(url, H2C + b"Content-Length: 30\r\n\r\n{")
    assert (reply.status, reply.json["error"]["code"]) == (408, "request_timeout")
    reply = send_raw(url, H2C + b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n")
    assert (reply.status, reply.closed) == (400, True)


def test_what_follows_a_request_that_offers_another_protocol_is_discarded(url: str) -> None:
    reply = send_raw(url, IN_ONE[0] + b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (reply.status, reply.answers, reply.closed) == (200, 1, True)
