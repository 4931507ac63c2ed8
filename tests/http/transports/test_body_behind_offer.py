"""Requests that also offer HTTP/2: the offer is not taken up, and the body is read."""

import json
from collections.abc import Iterator
from socket import create_connection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.many_clients import RawClient
from tests.support.raw import Reply, send_raw
from tests.wire.configuration import Server, Settings
from tests.wire.program import serving

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


@pytest.fixture
def url() -> Iterator[str]:
    """A server."""
    with serving(Settings(server=Server(max_body_bytes=20_000))) as url:
        yield url


CLOSE = b"Connection: close\r\n\r\n"
LAST = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + CLOSE


def bodies(reply: Reply) -> list[Any]:
    """What the answers of one connection contain."""
    found = []
    rest = reply.raw
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        found.append(json.loads(rest[:size]))
        rest = rest[size:]
    return found


@pytest.mark.parametrize("data", IN_ONE, ids=["a length", "chunks", "a long one"])
@pytest.mark.parametrize("size", [10_000_000, 700, 10, 1])
def test_a_request_that_also_offers_another_protocol_keeps_its_body(url: str, data: bytes, size: int) -> None:
    data += LAST
    reply = send_raw(url, data[: len(H2C)], (data[at : at + size] for at in range(len(H2C), len(data), size)))
    assert (reply.status, reply.closed) == (200, True)
    assert [body.get("object") for body in bodies(reply)] == ["response", None]


def test_each_body_belongs_to_its_request_and_the_connection_is_kept(url: str) -> None:
    asked = [json.dumps({"model": "demo", "input": "Hi", "metadata": {"n": str(n)}}).encode() for n in range(4)]
    plain = HEAD + b"Content-Length: %d\r\n\r\n" % len(asked[1]) + asked[1]
    offers = [H2C + b"Content-Length: %d\r\n\r\n" % len(each) + each for each in asked]
    everything = offers[0] + plain + offers[2] + H2C + b"Content-Length: 0\r\n\r\n" + offers[3] + LAST
    for size in (len(everything), 500, 7):
        pieces = (everything[at : at + size] for at in range(0, len(everything), size))
        *first, empty, third, _ = bodies(send_raw(url, pieces))
        assert [body["metadata"]["n"] for body in (*first, third)] == ["0", "1", "2", "3"]
        assert empty["error"]["code"] == "invalid_json"


def test_a_websocket_may_follow(url: str) -> None:
    offer = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    socket = b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\n%sSec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n\r\n"
    with RawClient(url) as client:
        assert client.send(IN_ONE[0]).status() == 200
        assert client.send(socket % offer).until(b"\r\n\r\n").startswith(b"HTTP/1.1 101")


def test_the_body_behind_an_offer_may_be_no_more_nonsense_than_any_other(url: str) -> None:
    reply = send_raw(url, H2C + b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n")
    assert (reply.status, reply.closed) == (400, True)


@pytest.mark.parametrize(
    ("path", "status"), [(b"/v1/responses", 413), (b"/v1/nope", 404)], ids=["too large", "an unknown path"]
)
@pytest.mark.parametrize("is_chunked", [False, True], ids=["a length", "chunks"])
def test_the_reason_for_a_refusal_arrives_though_the_body_is_still_being_sent(
    url: str, path: bytes, status: int, *, is_chunked: bool
) -> None:
    """A client that cannot send its body to the end may not read the answer."""
    head = H2C.replace(b"/v1/responses", path)
    head += b"Transfer-Encoding: chunked\r\n\r\n" if is_chunked else b"Content-Length: 3000000\r\n\r\n"
    piece = b"186a0\r\n" + b" " * 100_000 + b"\r\n" if is_chunked else b" " * 100_000
    where = urlsplit(url)
    with create_connection((where.hostname or "", where.port or 80), timeout=5) as connection:
        connection.sendall(head)
        for _ in range(30):
            connection.sendall(piece)
        connection.sendall(b"0\r\n\r\n" if is_chunked else b"")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 %d" % status)
