"""The limits of turns."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.http.websocket_server import settings_of
from tests.wire.program import serving
from tests.wire.script import opens, says, text_turn
from tests.wire.servers import ChatUpstream, Hang

ASK = {"model": "m", "input": "Hi"}


@pytest.fixture
def busy() -> Iterator[tuple[httpx.Client, ChatUpstream]]:
    """A server that runs one turn at a time, and runs one."""
    with (
        ChatUpstream([opens(), says("one"), Hang()], text_turn("two")) as upstream,
        serving(settings_of(upstream, max_turns=1), fresh=True) as url,
        httpx.Client(base_url=url, timeout=20) as client,
    ):
        yield client, upstream


def test_one_turn_too_many_is_a_503_and_health_is_never_behind_it(busy: tuple[httpx.Client, ChatUpstream]) -> None:
    client, upstream = busy
    with client.stream("POST", "/v1/responses", json={**ASK, "stream": True}) as running:
        pieces = running.iter_raw()  # to be held: without it httpx hangs up
        next(pieces)
        full = client.post("/v1/responses", json=ASK)
        assert (full.status_code, full.headers["retry-after"]) == (503, "2")
        error = full.json()["error"]
        assert (error["type"], error["code"], error["param"]) == ("server_error", "overloaded", "")
        assert [client.get(path).status_code for path in ("/health/live", "/health/ready", "/v1/models")] == [200] * 3
        assert not upstream.asks[0].gone.is_set()
    assert upstream.asks[0].wait_gone()
    answer = full
    while answer.status_code == 503:
        answer = client.post("/v1/responses", json=ASK)
    assert answer.json()["output"][0]["content"][0]["text"] == "two"


REFUSED = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_a_full_server_does_not_wait_for_the_body(busy: tuple[httpx.Client, ChatUpstream]) -> None:
    client, _ = busy
    with client.stream("POST", "/v1/responses", json={**ASK, "stream": True}) as running:
        pieces = running.iter_raw()  # to be held: without it httpx hangs up
        next(pieces)
        with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=20) as plain:
            plain.sendall(REFUSED + b"content-length: 30000000\r\n\r\n{")
            assert plain.recv(4096).startswith(b"HTTP/1.1 503 ")
