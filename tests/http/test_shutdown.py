"""Turns over HTTP when the server stops."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from tests.http.websocket_server import settings_of
from tests.wire.event_stream import events_of, judged
from tests.wire.program import Program
from tests.wire.script import opens, says, stops
from tests.wire.servers import Ask, ChatUpstream, Hang, Latch, Script, Step

STREAM = {"model": "demo", "input": "Hello", "stream": True}


@contextmanager
def stopping(script: Script, **server: Any) -> Iterator[tuple[Program, httpx.Client, ChatUpstream]]:
    """A server that is to be told to stop."""
    with ChatUpstream(script) as upstream, httpx.Client(timeout=20) as client:
        program = Program(settings_of(upstream, **server))
        client.base_url = program.url
        try:
            yield program, client, upstream
        finally:
            program.kill()


def is_ready(program: Program) -> bool:
    """Whether a balancer would send it more turns."""
    try:
        status = httpx.get(f"{program.url}/health/ready").status_code
    except httpx.TransportError:
        return False
    assert status in {200, 503}
    return status == 200


def begun(pieces: Iterator[bytes], text: bytes) -> bytes:
    """The bytes of a stream up to this text."""
    body = b""
    while text not in body:
        body += next(pieces)
    return body


def test_a_running_stream_comes_to_its_end_and_the_server_is_not_ready() -> None:
    gate = Latch()
    with stopping([opens(), says("one"), gate, says(" more"), stops()]) as (program, client, _):
        assert is_ready(program)
        with client.stream("POST", "/v1/responses", json=STREAM) as answer:
            pieces = answer.iter_raw()
            body = begun(pieces, b'"one"')
            program.process.send_signal(signal.SIGTERM)
            while is_ready(program):
                time.sleep(0.01)
            gate.open()
            events = events_of(body + b"".join(pieces))
        judged(events)
        assert events[-1]["response"]["output"][0]["content"][0]["text"] == "one more"
        assert program.process.wait(20) == 0


def test_what_takes_too_long_then_is_failed_or_refused() -> None:
    """A stream that has begun fails; one whose status line is held back is refused, and so is a whole answer."""

    def script(ask: Ask) -> list[Step]:
        return [Hang()] if "silent" in str(ask.body) else [opens(), says("one"), Hang()]

    with stopping(script, shutdown_grace=0.3) as (program, client, upstream), ThreadPoolExecutor() as pool:
        others = [{**STREAM, "input": "silent"}, {**STREAM, "stream": False}]
        refused = [pool.submit(client.post, "/v1/responses", json=body) for body in others]
        with client.stream("POST", "/v1/responses", json=STREAM) as answer:
            pieces = answer.iter_raw()
            body = begun(pieces, b'"one"')
            while len(upstream.asks) < 3:
                time.sleep(0.01)
            program.process.send_signal(signal.SIGINT)
            events = events_of(body + b"".join(pieces))
        judged(events)
        error = events[-1]["response"]["error"]
        assert (events[-1]["type"], error["code"]) == ("response.failed", "server_error")
        assert "try again" in error["message"]
        for got in (future.result() for future in refused):
            assert (got.status_code, got.json()["error"]["code"]) == (503, "overloaded")
            assert int(got.headers["retry-after"]) >= 1
        assert program.process.wait(20) == 0
        assert all(ask.wait_gone() for ask in upstream.asks)


def test_a_second_signal_ends_the_server_at_once() -> None:
    with (
        stopping([opens(), says("one"), Hang()], shutdown_grace=60) as (program, client, upstream),
        client.stream("POST", "/v1/responses", json=STREAM) as answer,
    ):
        begun(answer.iter_raw(), b'"one"')
        program.process.send_signal(signal.SIGINT)
        while is_ready(program):
            time.sleep(0.01)
        assert program.runs
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(20) == 0
        assert upstream.asks[0].wait_gone()


def test_a_client_that_reads_nothing_does_not_hold_up_the_end() -> None:
    body = json.dumps(STREAM)
    head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    much: list[Step] = [opens(), *[says("word " * 2000)] * 10_000, Hang()]
    with stopping(much, shutdown_grace=0.3) as (program, _, upstream), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        client.connect(("127.0.0.1", program.port))
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        while not upstream.asks:
            time.sleep(0.01)
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(20) == 0
        assert upstream.asks[0].wait_gone()
