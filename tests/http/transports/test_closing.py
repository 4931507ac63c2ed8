"""A client that goes away while its model speaks: the upstream is left, whether or not the words were streamed."""

import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from tests.http.transports.one_model import one_model
from tests.wire.program import serving
from tests.wire.script import opens, says
from tests.wire.servers import Ask, ChatUpstream, Pause, Step


@pytest.mark.parametrize(
    ("path", "stream"), [("/v1/responses", True), ("/v1/responses", False), ("/v1/responses/compact", False)]
)
def test_a_model_that_goes_on_speaking_is_left(path: str, *, stream: bool) -> None:
    asked = threading.Event()

    def script(_: Ask) -> list[Step]:
        asked.set()
        return [opens(), *[step for _ in range(3000) for step in (says("word "), Pause(0.01))]]

    body = json.dumps({"model": "m", "input": "Hi", "stream": stream}).encode()
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" % path.encode()
    with ChatUpstream(script) as upstream, serving(one_model(upstream)) as url:
        where = urlsplit(url)
        with socket.create_connection((where.hostname or "", where.port or 80), timeout=20) as client:
            client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert asked.wait(20)
            seen = b""
            while stream and b"output_text.delta" not in seen:
                seen += client.recv(4096) or pytest.fail("it ended")
        assert upstream.asks[0].wait_gone(5)  # it speaks for half a minute
