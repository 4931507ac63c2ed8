"""What is too slow, and requests that wait behind others on one connection."""

import json
import time
from collections.abc import Iterator

import pytest

from app.settings import Server, Settings
from app.transports.http_guard import MOST_QUEUED
from tests.support.raw import Reply, send_raw
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


def test_who_says_nothing_is_let_go_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transports.http_guard.IDLE", 0.2)
    with serving() as url:
        assert send_raw(url) == Reply(b"", closed=True)


def test_the_rest_of_a_refused_body_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transports.http_guard.LINGER", 0.2)
    with serving() as url:
        reply = send_raw(url, b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
    assert (reply.status, reply.closed) == (404, True)


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
