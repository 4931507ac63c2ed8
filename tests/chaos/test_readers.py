"""Clients that stop reading: what their answers cost while they wait."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.cli.listening import listen
from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import opens, says, stops
from tests.wire.servers import Ask, ChatUpstream, Script

PIECE = "word " * 2000
PIECES = 10_000
"""A hundred megabytes: far more than all buffers on the way hold. Linux lets them grow to nearly forty if both sides
are busy, and an upstream whose whole answer fits into them is not left before its end."""
MOST = 256 * 1024 * 1024
"""An answer may be that long: it is not left because of its length."""


@contextmanager
def reading(url: str, **body: Any) -> Iterator[socket.socket]:
    """A client that has asked, and reads only what the test reads."""
    host, _, port = url.removeprefix("http://").partition(":")
    sent = json.dumps({"model": "m", "input": "Hi", **body}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        client.settimeout(10)
        client.connect((host, int(port)))
        client.sendall(
            b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(sent), sent)
        )
        yield client


@contextmanager
def flooding(script: Script, via: str, **server: Any) -> Iterator[tuple[str, ChatUpstream]]:
    with ChatUpstream(script) as upstream:
        local = Upstream(via=via, base_url=upstream.url)  # type: ignore[arg-type]
        limits = Server(max_answer_bytes=MOST, **server)
        settings = Settings(server=limits, upstreams={"u": local}, models={"m": Model(upstream="u")})
        with serving(settings) as url:
            yield url, upstream


def left_behind(url: str, client: socket.socket, patience: float = 20) -> str:
    """The state of the server's end of this connection, as the system knows it; nothing if it goes away in time."""
    ends = (int(url.rpartition(":")[2]), client.getsockname()[1])
    state = ""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        state = next((row[3] for row in rows if ends == (int(row[1][9:], 16), int(row[2][9:], 16))), "")
        if not state:
            break
        time.sleep(0.05)
    return state


def first_ask(upstream: ChatUpstream) -> Ask:
    """What was asked first. The client may be told the beginning before that, while litellm is loaded."""
    deadline = time.monotonic() + 20
    while not upstream.asks and time.monotonic() < deadline:
        time.sleep(0.02)
    return upstream.asks[0]


FLOOD = [opens(), *[says(PIECE)] * PIECES, stops()]


@pytest.mark.parametrize("via", ["chat", "litellm"])
def test_a_client_that_stops_reading_is_cut_and_its_upstream_closed(via: str) -> None:
    with flooding(FLOOD, via, send_timeout=0.5) as (url, upstream), reading(url, stream=True) as client:
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert first_ask(upstream).wait_gone(20), "the upstream was never left"
        assert left_behind(url, client) == ""


def test_it_is_cut_where_the_system_would_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system knows a limit for what nobody takes."""
    monkeypatch.setattr("tests.support.serving.listen", lambda host, port, **_: listen(host, port, send_timeout=600))
    with flooding(FLOOD, "chat", send_timeout=0.5) as (url, upstream), reading(url, stream=True) as client:
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert first_ask(upstream).wait_gone(20), "the upstream was never left"


def test_an_answer_that_nobody_reads_leaves_no_connection_behind() -> None:
    """It was given whole, and the connection is kept for another request: only the system can see that nobody reads."""
    script = [opens(), *[says(PIECE)] * 400, stops()]
    with flooding(script, "chat", send_timeout=0.5) as (url, upstream), reading(url) as client:
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert left_behind(url, client) == ""
    assert first_ask(upstream).answered.is_set()
