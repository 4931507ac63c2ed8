"""Clients that read slowly: what their answers cost while they wait."""

import json
import socket
import time
from pathlib import Path

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import own_program
from tests.wire.script import opens, says, stops
from tests.wire.servers import ChatUpstream

PIECE = "word " * 2000
FLOOD = [opens(), *[says(PIECE)] * 10_000, stops()]
"""A hundred megabytes: far more than all buffers on the way hold. Linux lets them grow to nearly forty if both sides
are busy."""
MOST = 256 * 1024 * 1024
"""An answer may be that long: it is not left because of its length."""


def peak(process: int) -> int:
    """Most kilobytes of memory that it has had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def test_a_client_that_reads_slowly_slows_the_upstream_and_memory_stays_flat() -> None:
    body = json.dumps({"model": "m", "input": "Hi", "stream": True}).encode()
    with ChatUpstream(FLOOD) as upstream, socket.socket() as client:
        settings = Settings(
            server=Server(max_answer_bytes=MOST),
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="u")},
        )
        with own_program(settings) as program:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
            client.settimeout(50)
            client.connect(("127.0.0.1", program.port))
            client.sendall(
                b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%b" % (len(body), body)
            )
            while not upstream.asks:  # the beginning may be told before that, while litellm is loaded
                assert client.recv(4096)
            before = peak(program.process.pid)
            for _ in range(20):
                time.sleep(0.05)
                assert client.recv(4096)
            grown = peak(program.process.pid) - before
            assert not upstream.asks[0].answered.is_set(), "everything was taken from the upstream"
    assert grown < 25 * 1024
