"""The connections of websockets, and a client that reads nothing, when the server stops."""

import asyncio
import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.http.websocket_server import GOING_AWAY, settings_of
from tests.wire.event_stream import judged
from tests.wire.program import Program
from tests.wire.script import opens, says, stops
from tests.wire.servers import ChatUpstream, Hang, Latch, Script, Step
from tests.wire.sockets import error_of, opened, text_of


@contextmanager
def stopping(*scripts: Script, **server: Any) -> Iterator[tuple[Program, ChatUpstream]]:
    """A server that is to be told to stop."""
    with ChatUpstream(*scripts) as upstream:
        program = Program(settings_of(upstream, **server))
        try:
            yield program, upstream
        finally:
            program.kill()


async def ended(program: Program) -> int:
    """The exit code."""
    return await asyncio.to_thread(program.process.wait, 20)


async def test_the_running_turn_is_finished_when_the_server_stops() -> None:
    gate = Latch()
    with stopping([opens(), says("one"), gate, says(" more"), stops()]) as (program, upstream):
        async with opened(program.url) as client, opened(program.url) as idle:
            await client.send(input="Hello")
            await client.send(input="And?")
            first = await client.beginning()
            program.process.send_signal(signal.SIGTERM)
            assert await idle.closed() == GOING_AWAY
            gate.open()
            events = first + await client.answer()
            judged(events)
            assert text_of(events) == "one more"
            assert error_of(await client.event()) == (503, "overloaded", "")
            assert await client.closed() == GOING_AWAY
        assert await ended(program) == 0
    assert len(upstream.asks) == 1


async def test_a_turn_that_takes_too_long_then_is_failed() -> None:
    with stopping([opens(), says("one"), Hang()], shutdown_grace=0.3) as (program, upstream):
        async with opened(program.url) as client:
            await client.send(input="Hello")
            first = await client.beginning()
            program.process.send_signal(signal.SIGTERM)
            events = first + await client.answer()
            judged(events)
            assert events[-1]["type"] == "response.failed"
            assert await client.closed() == GOING_AWAY
        assert await ended(program) == 0
        assert upstream.asks[0].wait_gone()


def test_a_client_that_reads_nothing_does_not_hold_up_the_end() -> None:
    body = json.dumps({"model": "demo", "input": "Hello", "stream": True})
    head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    much: list[Step] = [opens(), *[says("word " * 2000)] * 10_000, Hang()]
    with stopping(much, shutdown_grace=0.3) as (program, upstream), socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        client.connect(("127.0.0.1", program.port))
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        while not upstream.asks:
            time.sleep(0.01)
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(20) == 0
        assert upstream.asks[0].wait_gone()
