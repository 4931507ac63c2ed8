"""What is no request, too long or too slow: refused in OpenAI's shape, before anything of it is believed."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from tests.http.transports.one_model import one_model
from tests.support.many_clients import RawClient
from tests.support.raw import Reply, send_raw
from tests.wire.configuration import Server, Settings
from tests.wire.program import serving
from tests.wire.script import opens, says
from tests.wire.servers import Ask, ChatUpstream, Hang, Step

BODY = json.dumps({"model": "demo", "input": "Hi"}).encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
QUESTION = json.dumps({"model": "m", "input": "Hi"}).encode()
ASK = HEAD + b"Content-Length: %d\r\n\r\n" % len(QUESTION) + QUESTION
LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
CLOSE = b"Connection: close\r\n\r\n"
LONG = 100_000


@pytest.fixture
def url() -> Iterator[str]:
    with serving(Settings(server=Server(max_body_bytes=20_000))) as url:
        yield url


def refused(reply: Reply) -> tuple[int, str]:
    """Status and code of a refusal, which has all that any other answer has, and behind which the connection ends."""
    error = reply.json["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-request-id"].startswith("req_AM-")
    assert reply.headers["openai-processing-ms"].isdecimal()
    return reply.status, error["code"]


@pytest.mark.parametrize(
    "data",
    [
        LIVE + b"X-A: " + b"a" * LONG + b"\r\n\r\n",
        LIVE + b"X-A: " + b"a" * LONG,
        LIVE + b"X-A: b\r\n" * LONG + b"\r\n",
        b"GET /" + b"a" * LONG + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\r\n" * LONG,
    ],
    ids=["one header", "one that does not end", "many headers", "the path", "line ends"],
)
def test_a_head_that_is_too_long_is_a_431(url: str, data: bytes) -> None:
    reply = send_raw(url, data)
    assert refused(reply) == (431, "headers_too_large")
    assert reply.closed


def test_a_head_that_is_not_too_long_is_welcome_in_pieces_too(url: str) -> None:
    head = LIVE + b"X-A: " + b"a" * 30_000 + b"\r\n" + CLOSE
    assert send_raw(url, head).status == 200
    assert send_raw(url, head[:1000], head[1000:]).status == 200


def test_a_head_that_comes_too_slowly_is_a_408_though_it_trickles_in(url: str) -> None:
    """The test takes as many seconds as a head may take."""

    def trickle() -> Iterator[bytes]:
        for _ in range(40):
            yield b"X-A: b\r\n"
            time.sleep(0.5)

    with ThreadPoolExecutor() as clients:
        stopped = clients.submit(send_raw, url, LIVE + b"X-A:", wait=30)
        trickles = clients.submit(send_raw, url, LIVE, trickle(), wait=1)
        for reply in (stopped.result(), trickles.result()):
            assert (refused(reply), reply.closed) == ((408, "request_timeout"), True)


def test_two_requests_at_once_are_answered_in_their_order(url: str) -> None:
    reply = send_raw(url, WHOLE + LIVE + CLOSE)
    assert reply.answers == 2
    assert reply.raw.index(b'"object":"response"') < reply.raw.index(b'"status":"ok"')


def test_nothing_is_written_into_an_answer_that_has_begun(url: str) -> None:
    body = json.dumps({"model": "demo", "input": "Hi", "stream": True}).encode()
    reply = send_raw(url, HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body + b"junk\r\n\r\n")
    assert reply.answers <= 1
    assert b"invalid_http" not in reply.raw
    assert reply.closed


def test_a_trailer_is_no_header(url: str) -> None:
    """It comes behind the body: too late for a key, and for a length."""
    chunk = b"%x\r\n%s\r\n" % (len(BODY), BODY)
    head = HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply = send_raw(url, head + chunk + b"0\r\nX-Request-Id: mine\r\n\r\n")
    assert reply.status == 200
    assert reply.headers["x-request-id"].startswith("req_AM-")


def test_the_reason_for_a_refusal_arrives_though_the_body_is_still_being_sent(url: str) -> None:
    head = HEAD + b"Connection: close\r\nContent-Length: 3000000\r\n\r\n"
    reply = send_raw(url, head, (b" " * 100_000 for _ in range(30)))
    assert (reply.status, reply.json["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize("body", [b"0\r\nX: ", b"0\r\n", b"1;x="], ids=["a trailer", "its name", "an extension"])
@pytest.mark.parametrize("path", [b"/v1/responses", b"/v1/nope"], ids=["while it is read", "after a refusal"])
def test_what_surrounds_a_body_is_limited_like_a_head(url: str, path: bytes, body: bytes) -> None:
    """The parser keeps a trailer until its end. A request that is refused is read on for a while."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 80), timeout=5) as connection:
        connection.sendall(HEAD.replace(b"/v1/responses", path) + b"Transfer-Encoding: chunked\r\n\r\n" + body)
        sent = 0
        with suppress(ConnectionError):
            while sent < 50_000_000:
                sent += connection.send(b"a" * 4000)
    assert sent < 20_000_000  # what the system keeps of it


def test_a_body_in_many_small_chunks_is_read(url: str) -> None:
    chunks = b"".join(b"1;extension=none\r\n%c\r\n" % byte for byte in BODY + b" " * 5000)
    reply = send_raw(url, HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks + b"0\r\n\r\n")
    assert reply.status == 200


def test_another_protocol_that_is_offered_is_not_taken_up(url: str) -> None:
    reply = send_raw(url, LIVE + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert reply.status == 200
    assert reply.answers == 1
    assert reply.closed


OFFER = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n"
)
SOCKET = b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\n" + OFFER


@pytest.mark.parametrize(
    "data",
    [
        HEAD + OFFER + b"\r\n",
        SOCKET + b"Content-Length: 3\r\n\r\nabc",
        SOCKET + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        SOCKET + b"X-A: b\r\n" * 200 + b"\r\n",
        SOCKET.replace(b": 13", b": 12") + b"\r\n",
        SOCKET + b"Sec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n\r\n",
    ],
    ids=["a POST", "a body", "a body in chunks", "too many headers", "another version", "two keys"],
)
def test_what_is_no_offer_of_a_websocket_is_not_waited_for(url: str, data: bytes) -> None:
    reply = send_raw(url, data)
    assert refused(reply) == (400, "invalid_http")
    assert reply.closed


def test_a_websocket_is_not_opened_behind_an_answer_that_is_being_given() -> None:
    """Nobody would notice how the client takes that answer."""
    with ChatUpstream([opens(), says("one"), Hang()]) as upstream, serving(one_model(upstream)) as url:
        reply = send_raw(url, ASK, SOCKET + b"\r\n")
        assert reply.closed
        assert b"101 Switching" not in reply.raw


def test_chunks_are_read_however_the_word_is_spelled(url: str) -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    assert send_raw(url, HEAD + b"Transfer-Encoding: Chunked\r\n" + CLOSE + chunks).status == 200


def test_a_connection_that_ends_ends_all_its_requests() -> None:
    """Both the running one, whose upstream is closed, and those that are queued."""
    asked = threading.Event()

    def script(_: Ask) -> list[Step]:
        asked.set()
        return [opens(), says("one"), Hang()]

    with ChatUpstream(script) as upstream, serving(one_model(upstream)) as url, RawClient(url) as client:
        client.send(ASK)
        assert asked.wait(20)
        client.send(ASK + b"junk\r\n\r\n").until(b"nothing, as it is closed")
        assert upstream.asks[0].wait_gone()
        assert len(upstream.asks) == 1
