"""A client that goes away while its model speaks: the upstream is left, whether or not the words were streamed."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.http.transports.one_model import one_model
from tests.http.transports.websocket_server import settings_of
from tests.wire.program import own_program, serving
from tests.wire.script import opens, says, thinks
from tests.wire.servers import Ask, ChatUpstream, Hang, Pause, Status, Step


def asking(url: str, body: Mapping[str, Any], *, path: str = "/v1/responses", request_id: str = "r") -> socket.socket:
    """A client that has sent its request."""
    where, content = urlsplit(url), json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {request_id}\r\n"
    client = socket.create_connection((where.hostname or "", where.port or 80), timeout=20)
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    client.sendall(f"{head}{content}".encode())
    return client


def read(client: socket.socket, text: bytes) -> None:
    """Read up to this text."""
    seen = b""
    while text not in seen:
        seen += client.recv(4096) or pytest.fail("it ended")


@pytest.mark.parametrize(
    ("path", "stream"), [("/v1/responses", True), ("/v1/responses", False), ("/v1/responses/compact", False)]
)
def test_a_model_that_goes_on_speaking_is_left(path: str, *, stream: bool) -> None:
    asked = threading.Event()

    def script(_: Ask) -> list[Step]:
        asked.set()
        return [opens(), *[step for _ in range(3000) for step in (says("word "), Pause(0.01))]]

    with ChatUpstream(script) as upstream, serving(one_model(upstream)) as url:
        with asking(url, {"model": "m", "input": "Hi", "stream": stream}, path=path) as client:
            assert asked.wait(20)
            if stream:
                read(client, b"output_text.delta")
        assert upstream.asks[0].wait_gone(5)  # it speaks for half a minute


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ([Hang()], b"response.in_progress"),
        ([opens(), Hang()], b"response.in_progress"),
        ([thinks("Hm"), Hang()], b'"delta":"Hm"'),
    ],
)
def test_so_is_one_that_is_silent_behind_the_status_line(script: list[Step], text: bytes) -> None:
    """Before its first payload, before its first word, and while it thinks."""
    with ChatUpstream(script) as upstream, serving(settings_of(upstream, first_payload_wait=0)) as url:
        with asking(url, {"model": "m", "input": "Hi", "stream": True}) as client:
            read(client, text)
            while not upstream.asks:
                time.sleep(0.005)
        assert upstream.asks[0].wait_gone(5)


@pytest.mark.parametrize("stream", [True, False])
def test_one_that_is_to_be_asked_again_later_is_not(*, stream: bool) -> None:
    busy = Status(429, headers={"retry-after": "5"})
    with ChatUpstream([busy]) as upstream, own_program(one_model(upstream)) as program:
        with asking(program.url, {"model": "m", "input": "Hi", "stream": stream}, request_id="left"):
            while not (upstream.asks and upstream.asks[0].answered.is_set()):
                time.sleep(0.005)
        program.turn("left")  # it is over
        assert len(upstream.asks) == 1
