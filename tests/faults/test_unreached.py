"""An upstream that takes no connections: its machine is there, and nobody accepts them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.event_stream import events_of, judged
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream

ASK = {"model": "m", "input": "Hi"}


@pytest.fixture
def full() -> Iterator[str]:
    """The address of a server whose queue of connections is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        try:
            while True:
                stack.enter_context(socket.create_connection(server.getsockname(), timeout=0.2))
        except TimeoutError:
            pass
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def settings(*upstreams: str, **server: float) -> str:
    names = {
        f"u{number}": Upstream(via="chat", base_url=url, connect_timeout=0.2, retries=0)
        for number, url in enumerate(upstreams)
    }
    return Settings(server=Server(**server), upstreams=names, models={"m": Model(upstreams=list(names))})


@pytest.mark.parametrize("stream", [False, True])
def test_it_cannot_be_reached(full: str, *, stream: bool) -> None:
    with serving(settings(full)) as url:
        refused = httpx.post(f"{url}/v1/responses", json={**ASK, "stream": stream}, timeout=20)
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "upstream_error")


def test_a_stream_that_has_begun_fails(full: str) -> None:
    with serving(settings(full, first_payload_wait=0)) as url:
        events = events_of(httpx.post(f"{url}/v1/responses", json={**ASK, "stream": True}, timeout=20).content)
    judged(events)
    assert (events[-1]["type"], events[-1]["response"]["error"]["code"]) == ("response.failed", "server_error")


def test_another_one_is_asked(full: str) -> None:
    with ChatUpstream(text_turn("Hi")) as other, serving(settings(full, other.url)) as url:
        assert httpx.post(f"{url}/v1/responses", json=ASK, timeout=20).status_code == 200
