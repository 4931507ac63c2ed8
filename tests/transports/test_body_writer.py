"""Streams that are written to the connection at once: the same bytes as those sent as messages of ASGI."""

import re
import socket
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.settings import Model, Settings, Upstream
from app.transports import http_turns
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import ChatUpstream, Pause

WORDS = [f"word {number} " for number in range(12)]
ASK = b'{"model":"m","input":"Hi","stream":true}'
SCRIPT = [*[step for word in WORDS for step in (says(word), Pause(0.01))], stops()]


def exchanged(version: str, times: int, *, pipelined: bool = False) -> bytes:
    """What a client gets for so many requests on one connection."""
    with ChatUpstream(*[SCRIPT] * times) as server:
        upstream = Upstream(base_url=server.url, via="chat")
        with serving(Settings(upstreams={"u": upstream}, models={"*": Model(upstream="u")})) as url:
            host, port = url.removeprefix("http://").split(":")
            head = f"POST /v1/responses HTTP/{version}\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            one = head.encode() + b"content-length: %d\r\n" % len(ASK)
            asks = [one + b"\r\n" + ASK] * (times - 1) + [one + b"connection: close\r\n\r\n" + ASK]
            with socket.create_connection((host, int(port)), timeout=10) as client:
                received = b""
                if pipelined:
                    client.sendall(b"".join(asks))
                for number, ask in enumerate(asks, 1):
                    if not pipelined:
                        client.sendall(ask)
                    while received.count(b"[DONE]") < number and (piece := client.recv(65536)):
                        received += piece
                while piece := client.recv(65536):
                    received += piece
    return received


def shape_of(received: bytes) -> bytes:
    """The bytes without what differs between two answers: ids, times, and how events share the pieces of a body."""
    text = re.sub(rb"\r\n[0-9a-f]+\r\n(?=event|data)|(?<=\n\n)\r\n", b"", received)
    return re.sub(rb"AM-[A-Za-z0-9_-]+|\bdate: [^\r]+|processing-ms: \d+|_at\":\d+", b"", text)


@pytest.mark.parametrize(
    ("version", "times", "pipelined"), [("1.1", 1, False), ("1.1", 2, False), ("1.1", 3, True), ("1.0", 1, False)]
)
def test_a_stream_is_the_same_as_messages_of_asgi(
    version: str, times: int, *, pipelined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = 0
    send = RequestResponseCycle.send

    async def counted(self: RequestResponseCycle, message: Any) -> None:
        nonlocal sent
        sent += 1
        await send(self, message)

    monkeypatch.setattr(RequestResponseCycle, "send", counted)
    directly = exchanged(version, times, pipelined=pipelined)
    messages, sent = sent, 0
    with monkeypatch.context() as without:
        without.setattr(http_turns, "body_writer", lambda _scope: None)
        by_messages = exchanged(version, times, pipelined=pipelined)
    assert shape_of(directly) == shape_of(by_messages)
    assert directly.count(b"response.completed") == 2 * times
    assert messages < times * len(WORDS) <= sent
