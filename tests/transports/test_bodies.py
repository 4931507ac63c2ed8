"""What bodies may cost while they are read: time, and bytes of one caller, of all guests and of the process."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from urllib.parse import urlsplit

import httpx
import pytest

from app.settings import Key, Model, Server, Settings, Upstream
from tests.support.raw import Reply, send_raw
from tests.support.serving import serving

KEYS = tuple(Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob"))
KB = 1024
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def trickle(size: int, times: int) -> Iterator[bytes]:
    for _ in range(times):
        time.sleep(0.05)
        yield b" " * size


def refused(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["error"]["code"]


@pytest.mark.parametrize("path", [b"/v1/responses", b"/inspector/ask"])
def test_what_came_fast_allows_no_silence_later(path: bytes) -> None:
    """The upstream, the slot and the memory of a long body are held for as long as it is allowed to take."""
    with serving(Settings(server=Server(body_timeout=0.4))) as url:
        head = HEAD % path + b"Content-Length: 900000\r\n\r\n"
        reply = send_raw(url, head + b" " * 800_000, trickle(1, 40), wait=1)
    assert refused(reply) == (408, "request_timeout")


def test_a_body_that_comes_steadily_and_for_long_is_a_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transports.receiving.LONGEST", 2)
    with serving(Settings(server=Server(body_timeout=0.4))) as url:
        head = HEAD % b"/v1/responses" + b"Content-Length: 900000\r\n\r\n"
        reply = send_raw(url, head, trickle(1000, 40), wait=1)
    assert refused(reply) == (408, "request_timeout")
    came = int(reply.json["error"]["message"].split()[5])
    assert 0 < came < 40_000  # it is refused while more of it comes


def test_a_body_behind_an_offer_of_http_2_that_does_not_come_is_a_408() -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
    with serving(Settings(server=Server(body_timeout=0.4))) as url:
        reply = send_raw(url, HEAD % b"/v1/responses" + offer + b"Content-Length: 30\r\n\r\n{")
    assert refused(reply) == (408, "request_timeout")


def test_a_body_that_comes_steadily_is_read() -> None:
    """It takes twice as long as silence may."""
    body = json.dumps({"model": "demo", "input": "Hi"}).encode()
    with serving(Settings(server=Server(body_timeout=0.6))) as url:
        head = HEAD % b"/v1/responses" + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (len(body) + 24_000)
        assert send_raw(url, head, trickle(1000, 24), body, wait=5).status == 200


class Holder:
    """Clients that begin bodies and do not end them."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._where = urlsplit(url)
        self._stack = stack

    def hold(self, key: str, size: int) -> socket.socket:
        """A connection on which so much of a longer body has come."""
        client = socket.create_connection((self._where.hostname or "", self._where.port or 80), timeout=5)
        self._stack.enter_context(client)
        head = HEAD % b"/v1/responses" + b"Authorization: Bearer %s\r\nContent-Length: 100000\r\n\r\n" % key.encode()
        client.sendall(head + b" " * size)
        return client


def ask(url: str, key: str, size: int = 0, path: str = "/v1/responses") -> tuple[int, str]:
    """Status and code of one whole request."""
    body = {"model": "demo", "input": "x" * size}
    answer = httpx.post(f"{url}{path}", json=body, headers={"authorization": f"Bearer {key}"}, timeout=10)
    if answer.is_error:
        assert answer.headers["retry-after"] == "2"
        return answer.status_code, answer.json()["error"]["code"]
    return answer.status_code, ""


def comes_to(expected: tuple[int, str], url: str, key: str, size: int) -> bool:
    """Whether a request comes to this, as soon as the server has noticed what other clients did."""
    for _ in range(200):
        if ask(url, key, size) == expected:
            return True
        time.sleep(0.01)
    return False


SMALL = {"max_body_bytes": 100 * KB, "body_caller_bytes": 150 * KB, "body_total_bytes": 200 * KB}
MORE, FULL, FINE = (429, "rate_limit_exceeded"), (503, "overloaded"), (200, "")


def test_the_bodies_of_one_caller_hold_its_share_and_all_together_the_servers() -> None:
    with serving(Settings(server=Server(**SMALL), keys=KEYS)) as url, ExitStack() as stack:  # type: ignore[arg-type]
        clients = Holder(url, stack)
        held = [clients.hold("alice", 70 * KB), clients.hold("alice", 60 * KB)]
        assert comes_to(MORE, url, "alice", 40 * KB)
        assert ask(url, "alice", 40 * KB, "/inspector/ask") == MORE
        assert ask(url, "alice", 10 * KB) == FINE
        assert ask(url, "bob", 60 * KB) == FINE
        assert ask(url, "bob", 80 * KB) == FULL
        for client in held:
            client.close()
        assert comes_to(FINE, url, "alice", 80 * KB)
        assert [ask(url, "alice", 80 * KB) for _ in range(5)] == [FINE] * 5  # each is given back


def test_callers_with_made_up_keys_hold_half_of_all_together() -> None:
    settings = Settings(
        server=Server(**SMALL),  # type: ignore[arg-type]
        keys=KEYS,
        upstreams={
            "p": Upstream(via="chat", base_url="http://127.0.0.1:9", auth="passthrough"),
            "d": Upstream(via="demo"),
        },
        models={"m": Model(upstream="p"), "demo": Model(upstream="d")},
    )
    with serving(settings) as url, ExitStack() as stack:
        clients = Holder(url, stack)
        for number in range(3):
            clients.hold(f"sk-made-up-{number}", 30 * KB)
        assert comes_to(MORE, url, "sk-made-up-9", 20 * KB)
        assert ask(url, "alice", 80 * KB) == FINE


def test_the_longest_body_fits_whatever_the_shares_are() -> None:
    with serving(Settings(server=Server(body_caller_bytes=0, body_total_bytes=0), keys=KEYS)) as url:
        assert ask(url, "alice", 900 * KB) == FINE
