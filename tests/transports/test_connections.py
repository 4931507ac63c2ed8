"""Connections over real sockets: who keeps one when there is no room, and what the others are told."""

import re
import time
import urllib.request
from hashlib import sha256
from typing import Any

import pytest

from app.settings import Key, Model, Server, Settings, Upstream
from tests.support.many_clients import HALF, RawClient, request
from tests.support.raw import send_raw
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream

KEY = "alices-key"
KEYS = (Key(name="alice", digest=sha256(KEY.encode()).digest()),)


def settings(*, keys: tuple[Key, ...] = KEYS, **server: Any) -> Settings:
    """A server with the demo model."""
    return Settings(
        server=Server(**{"metrics": "open", "log_format": "json"} | server),
        keys=keys,
        upstreams={"demo": Upstream(via="demo")},
        models={"demo": Model(upstream="demo")},
    )


def figures(url: str) -> dict[str, float]:
    """The metrics about connections, read over a connection of its own."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:  # noqa: S310 — a local URL
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^am_proxy_(connections\S+) (\S+)$", text, re.MULTILINE)}


UNKNOWN = {
    "nothing": b"",
    "half a head": HALF,
    "an answer without a key": request(path="/health/live"),
    "a wrong key": request("wrong"),
    "half a body with a wrong key": request("wrong")[:-5],
    "an answer that is not read": request(path="/openapi.json") * 16,
    "an offer of a websocket without a key": (
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n"
    ),
}


@pytest.mark.parametrize("sent", UNKNOWN.values(), ids=UNKNOWN)
def test_a_connection_without_a_key_makes_room_for_others(sent: bytes) -> None:
    with serving(settings(max_connections=3)) as url, RawClient(url) as idle, RawClient(url) as unknown:
        assert idle.ask(KEY) == 200
        unknown.send(sent)
        time.sleep(0.1)
        with RawClient(url) as third, RawClient(url) as fourth:
            assert [third.ask(KEY), fourth.ask(KEY)] == [200, 200]
            assert unknown.closed_soon()
            assert idle.ask(KEY) == 200


def test_the_connection_that_has_been_idle_longest_makes_room_if_all_have_a_key() -> None:
    with serving(settings(max_connections=3)) as url:
        clients = [RawClient(url) for _ in range(3)]
        assert [client.ask(KEY) for client in (*clients, clients[0])] == [200] * 4
        with RawClient(url) as newest:
            assert newest.ask(KEY) == 200
            assert clients[1].closed_soon()
            assert [clients[0].ask(KEY), clients[2].ask(KEY)] == [200, 200]
        for client in clients:
            client.socket.close()


def test_a_turn_is_never_cut_and_a_client_without_room_is_told_so() -> None:
    with serving(settings(max_connections=2)) as url, RawClient(url) as first, RawClient(url) as second:
        for client in (first, second):
            client.send(request(KEY, text="long slow", stream=True))
            assert client.until(b"response.output_text.delta").endswith(b"delta")
        for _ in range(3):
            reply = send_raw(url, request(KEY))
            assert (reply.status, reply.closed) == (503, True)
            assert reply.headers["retry-after"] == "2"
            assert reply.headers["connection"] == "close"
            assert reply.json["error"] == {
                "message": "This server has 2 connections, all of them busy, and takes no more.",
                "type": "server_error",
                "param": "",
                "code": "overloaded",
            }
        assert send_raw(url, b"").status == 503, "without a request too"
        assert first.until(b"response.output_text.delta").endswith(b"delta")
        assert not second.is_closed


def test_a_websocket_keeps_its_connection_and_an_idle_one_makes_room() -> None:
    offer = UNKNOWN["an offer of a websocket without a key"] + b"Authorization: Bearer %s\r\n\r\n" % KEY.encode()
    with serving(settings(max_connections=2)) as url, RawClient(url) as websocket, RawClient(url) as idle:
        assert websocket.send(offer).until(b"\r\n\r\n").startswith(b"HTTP/1.1 101 ")
        assert idle.ask(KEY) == 200
        with RawClient(url) as newest:
            assert newest.ask(KEY) == 200
            assert idle.closed_soon()
            assert not websocket.is_closed
        websocket.socket.close()
        for _ in range(100):  # it gives back its place
            if figures(url)['connections{state="busy"}'] == 0:
                break
            time.sleep(0.01)
        assert figures(url)['connections{state="busy"}'] == 0


def test_queued_requests_of_one_connection_are_answered_whoever_else_comes() -> None:
    refused = 0
    with serving(settings(max_connections=1)) as url:
        for _ in range(20):
            with RawClient(url) as client:
                assert client.ask(KEY) == 200
                client.send(request(KEY) * 5)
                refused += send_raw(url, b"", wait=0.02).status == 503
                assert [client.status() for _ in range(5)] == [200] * 5
    assert refused


def test_an_answer_that_its_client_reads_slowly_is_not_cut() -> None:
    length = 8_000_000
    with ChatUpstream() as upstream:
        upstream.scripts = (text_turn("x" * length),)
        models = {"demo": Model(upstream="u")}
        slow_settings = Settings(
            server=Server(max_connections=1),
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
            models=models,
        )
        with serving(slow_settings) as url, RawClient(url) as slow:
            slow.send(request())
            assert slow.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
            time.sleep(0.2)  # all of it is in the buffers of the server and of the system
            assert send_raw(url, request(path="/health/live"), wait=1).status == 503
            seen = 0
            while not (data := slow.socket.recv(1_000_000)).endswith(b"}"):
                assert data, f"it ends after {seen} bytes"
                seen += len(data)
            assert seen > length - 1_000_000
            time.sleep(0.05)
            assert send_raw(url, request(path="/health/live"), wait=0.2).status == 200
            assert slow.closed_soon()


def test_without_keys_a_turn_is_protected_all_the_same() -> None:
    with serving(settings(keys=(), max_connections=2)) as url, RawClient(url) as busy, RawClient(url) as slow:
        busy.send(request(text="long slow", stream=True))
        assert busy.until(b"response.output_text.delta").endswith(b"delta")
        slow.send(HALF)
        for _ in range(5):
            with RawClient(url) as other:
                assert other.ask() == 200
        assert slow.closed_soon()
        assert busy.until(b"response.output_text.delta").endswith(b"delta")


def test_one_address_has_a_limit_of_its_own_and_is_told_so() -> None:
    server = settings(max_address_connections=2, proxies=("127.0.0.9",))
    with serving(server) as url:
        clients = [RawClient(url, "127.0.0.2").send(request(KEY, text="long slow", stream=True)) for _ in range(2)]
        for client in clients:
            client.until(b"response.output_text.delta")
        with RawClient(url, "127.0.0.2") as third, RawClient(url, "127.0.0.3") as other:
            assert third.ask(KEY) == 503
            assert other.ask(KEY) == 200
        of_proxy = [RawClient(url, "127.0.0.9") for _ in range(9)]
        assert [client.ask(KEY) for client in of_proxy] == [200] * 9
        assert figures(url)['connections_refused_total{limit="address"}'] == 1
        for client in (*clients, *of_proxy):
            client.socket.close()


def test_the_metrics_count_connections() -> None:
    with serving(settings(max_connections=3)) as url:
        with RawClient(url) as idle, RawClient(url) as unknown, RawClient(url) as busy:
            assert idle.ask(KEY) == 200
            busy.send(request(KEY, text="long slow", stream=True)).until(b"delta")
            assert not unknown.is_closed
            assert figures(url) == {  # read over one more connection
                'connections{state="unknown"}': 1,
                'connections{state="idle"}': 1,
                'connections{state="busy"}': 1,
                'connections_closed_total{state="unknown"}': 1,
                'connections_closed_total{state="idle"}': 0,
                'connections_refused_total{limit="all"}': 0,
                'connections_refused_total{limit="address"}': 0,
            }
        for _ in range(100):
            if sum(figures(url)[f'connections{{state="{state}"}}'] for state in ("unknown", "idle", "busy")) == 1:
                break
            time.sleep(0.01)
        assert figures(url)['connections{state="unknown"}'] == 1


def test_a_keyed_client_whose_turn_is_refused_keeps_its_connection() -> None:
    keys = (Key(name="alice", digest=KEYS[0].digest, requests_per_minute=1),)
    with serving(settings(keys=keys, max_connections=2)) as url, RawClient(url) as known, RawClient(url) as unknown:
        assert [known.ask(KEY), known.ask(KEY)] == [200, 429]
        unknown.send(HALF)
        assert send_raw(url, request(path="/health/live"), wait=0.2).status == 200
        assert unknown.closed_soon()
        assert not known.is_closed
        assert known.ask(KEY) == 429
