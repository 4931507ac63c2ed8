"""What is no request, too long or too slow: refused in OpenAI's shape, before anything of it is believed."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from app.settings import Model, Server, Settings, Upstream
from app.transports.http_guard import MOST_QUEUED
from tests.support.raw import Reply, send_raw
from tests.support.script import opens, says
from tests.support.servers import ChatUpstream, Hang
from tests.support.serving import serving

BODY = json.dumps({"model": "demo", "input": "Hi"}).encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
CLOSE = b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server without patience."""
    server = Server(max_header_bytes=4096, header_timeout=0.5, body_timeout=0.5, max_body_bytes=20_000)
    with serving(Settings(server=server)) as url:
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
        LIVE + b"X-A: " + b"a" * 4096 + b"\r\n\r\n",
        LIVE + b"X-A: " + b"a" * 10_000,
        LIVE + b"X-A: b\r\n" * 600 + b"\r\n",
        b"GET /" + b"a" * 4096 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\r\n" * 3000,
    ],
    ids=["one header", "one that does not end", "many headers", "the path", "line ends"],
)
def test_a_head_that_is_too_long_is_a_431(url: str, data: bytes) -> None:
    reply = send_raw(url, data)
    assert refused(reply) == (431, "headers_too_large")
    assert reply.closed


def test_a_head_just_short_enough_is_welcome_in_pieces_too(url: str) -> None:
    head = LIVE + b"X-A: " + b"a" * 3900 + b"\r\n" + CLOSE
    assert send_raw(url, head).status == 200
    assert send_raw(url, head[:1000], head[1000:]).status == 200


def test_a_head_that_comes_too_slowly_is_a_408(url: str) -> None:
    reply = send_raw(url, LIVE + b"X-A:")
    assert refused(reply) == (408, "request_timeout")
    assert reply.closed


def test_a_head_that_trickles_in_is_a_408_all_the_same(url: str) -> None:
    def trickle() -> Iterator[bytes]:
        for _ in range(30):
            yield b"X-A: b\r\n"
            time.sleep(0.05)

    assert refused(send_raw(url, LIVE, trickle())) == (408, "request_timeout")


def test_a_second_head_that_does_not_come_is_a_408_behind_the_first_answer(url: str) -> None:
    reply = send_raw(url, LIVE + b"\r\n" + LIVE)
    assert (reply.status, reply.answers) == (200, 2)
    assert b"request_timeout" in reply.raw
    assert reply.closed


def test_a_line_end_between_requests_starts_the_clock(url: str) -> None:
    def later() -> Iterator[bytes]:
        time.sleep(0.1)
        yield b"\r\n"

    reply = send_raw(url, LIVE + b"\r\n", later(), wait=2)
    assert (reply.status, reply.answers, reply.closed) == (200, 2, True)
    assert b"request_timeout" in reply.raw


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"Content-Length: 500\r\n\r\n" + BODY,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{    \r\n",
        HEAD + b"Content-Length: 5\r\n\r\n",
    ],
    ids=["less than declared", "a chunk and no more", "nothing"],
)
def test_a_body_that_does_not_come_is_a_408(url: str, data: bytes) -> None:
    reply = send_raw(url, data)
    assert refused(reply) == (408, "request_timeout")
    assert reply.closed


def test_a_body_that_trickles_in_is_a_408_all_the_same(url: str) -> None:
    def trickle() -> Iterator[bytes]:
        for _ in range(16):
            yield b" "
            time.sleep(0.05)

    assert refused(send_raw(url, HEAD + b"Content-Length: 500\r\n\r\n", trickle())) == (408, "request_timeout")


def test_a_slow_answer_is_not_cut_by_the_clock_of_the_head(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.upstreams.demo.SLOW", 0.03)
    body = json.dumps({"model": "demo", "input": "slowly, please", "stream": True}).encode()
    head = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert b"response.completed" in send_raw(url, head + body, wait=20).raw


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


def test_a_websocket_is_not_opened_behind_an_answer_that_is_being_given(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would notice how the client takes that answer."""
    monkeypatch.setattr("app.upstreams.demo.SLOW", 0.03)
    body = json.dumps({"model": "demo", "input": "slowly, please", "stream": True}).encode()
    reply = send_raw(url, HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, SOCKET + b"\r\n")
    assert reply.closed
    assert b"101 Switching" not in reply.raw


def test_who_says_nothing_is_let_go_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transports.http_guard.IDLE", 0.2)
    with serving() as url:
        assert send_raw(url) == Reply(b"", closed=True)


def test_the_rest_of_a_refused_body_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transports.http_guard.LINGER", 0.2)
    with serving() as url:
        reply = send_raw(url, b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
    assert (reply.status, reply.closed) == (404, True)


def test_chunks_are_read_however_the_word_is_spelled(url: str) -> None:
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    assert send_raw(url, HEAD + b"Transfer-Encoding: Chunked\r\n" + CLOSE + chunks).status == 200


def slowly(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A request whose answer takes most of a second."""
    monkeypatch.setattr("app.upstreams.demo.SLOW", 0.015)
    body = json.dumps({"model": "demo", "input": "slowly, please", "stream": True}).encode()
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_few_requests_are_queued_behind_an_answer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are not read; the last answer says that the connection ends with it."""
    reply = send_raw(url, slowly(monkeypatch) + (LIVE + b"\r\n") * 1000, wait=20)
    assert (reply.answers, reply.closed) == (1 + MOST_QUEUED, True)
    last = reply.raw[reply.raw.rindex(b"HTTP/1.1 ") :]
    assert (last[:12], b"connection: close" in last) == (b"HTTP/1.1 200", True)


def test_nothing_is_read_while_requests_are_queued(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client sends meanwhile waits at its side of the connection, and is answered in its turn."""

    def later() -> Iterator[bytes]:
        for _ in range(2):
            time.sleep(0.1)
            yield (LIVE + b"\r\n") * (MOST_QUEUED - 1)
        time.sleep(0.1)
        yield LIVE + CLOSE

    reply = send_raw(url, slowly(monkeypatch), later(), wait=20)
    assert (reply.answers, reply.closed) == (2 + 2 * (MOST_QUEUED - 1), True)


def test_a_connection_that_ends_ends_all_its_requests() -> None:
    """Both the running one, whose upstream is closed, and those that are queued."""
    body = json.dumps({"model": "m", "input": "Hi"}).encode()
    ask = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with ChatUpstream([opens(), says("one"), Hang()]) as upstream:
        settings = Settings(
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)}, models={"m": Model(upstream="u")}
        )
        with serving(settings) as url:
            where = urlsplit(url)
            with socket.create_connection((where.hostname or "", where.port or 80), timeout=5) as client:
                client.sendall(ask)
                while not upstream.asks:
                    time.sleep(0.005)
                client.sendall(ask + b"junk\r\n\r\n")
                with suppress(ConnectionError):
                    while client.recv(4096):
                        pass
            assert upstream.asks[0].wait_gone()
            assert len(upstream.asks) == 1
