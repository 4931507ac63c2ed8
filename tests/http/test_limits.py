"""The limits of turns."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping

import httpx
import pytest

from tests.wire.configuration import Key, Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import opens, says, text_turn
from tests.wire.servers import ChatUpstream, Hang, Latch, Script, Status

ASK = {"model": "m", "input": "Hi"}


def limited(upstream: ChatUpstream, *, key: str = "", **limits: int) -> str:
    return Settings(
        server=Server() if key else Server(**limits),
        upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
        models={"m": Model(upstream="u")},
        keys=[Key(name="alice", value=key, **limits)] if key else None,
    )


@pytest.fixture
def busy() -> Iterator[tuple[httpx.Client, ChatUpstream]]:
    """A server that runs one turn at a time, and runs one."""
    with (
        ChatUpstream([opens(), says("one"), Hang()], text_turn("two")) as upstream,
        serving(limited(upstream, max_turns=1), fresh=True) as url,
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


ENDINGS: dict[str, tuple[Script, Mapping[str, object], int]] = {
    "completed": (text_turn("Hi"), ASK, 200),
    "streamed": (text_turn("Hi"), {**ASK, "stream": True}, 200),
    "no request": ([], {"model": 3}, 400),
    "no such model": ([], {**ASK, "model": "other"}, 404),
    "refused upstream": ([Status(500)], ASK, 502),
    "refused upstream, streamed": ([Status(500)], {**ASK, "stream": True}, 502),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_turn_ends_its_place_is_free_again(ending: str) -> None:
    script, body, status = ENDINGS[ending]
    with (
        ChatUpstream(script) as upstream,
        serving(limited(upstream, max_turns=1)) as url,
        httpx.Client(base_url=url, timeout=20) as client,
    ):
        assert [client.post("/v1/responses", json=body).status_code for _ in range(3)] == [status] * 3


def test_a_keys_turns_at_once_are_counted() -> None:
    gate = Latch()
    with (
        ChatUpstream([gate, *text_turn("Hi")]) as upstream,
        serving(limited(upstream, key="k", concurrency=1)) as url,
        httpx.Client(base_url=url, timeout=20, headers={"authorization": "Bearer k"}) as client,
    ):
        first: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: first.append(client.post("/v1/responses", json=ASK)))
        asking.start()
        while not upstream.asks:
            time.sleep(0.005)
        second = client.post("/v1/responses", json=ASK)
        gate.open()
        asking.join(5)
    assert (second.status_code, second.headers["retry-after"]) == (429, "1")
    assert second.json()["error"]["code"] == "rate_limit_exceeded"
    assert first[0].status_code == 200
