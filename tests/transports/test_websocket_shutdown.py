"""The connections of websockets when the server stops."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.event_stream import judged
from tests.support.running import Running, running
from tests.support.script import opens, says, stops
from tests.support.servers import ChatUpstream, Hang, Latch, Script, Step
from tests.support.sockets import error_of, opened, text_of
from tests.support.websocket_server import GOING_AWAY, connect_without_reading


@contextmanager
def stopping(folder: Path, *scripts: Script, **environ: str) -> Iterator[tuple[Running, ChatUpstream]]:
    """The real command, which can be told to stop."""
    with (
        ChatUpstream(*scripts) as upstream,
        running("--upstream", upstream.url, "--via", "chat", folder=folder, environ=environ) as server,
    ):
        yield server, upstream


async def test_the_running_turn_is_finished_when_the_server_stops(tmp_path: Path) -> None:
    gate = Latch()
    with stopping(tmp_path, [opens(), says("one"), gate, says(" more"), stops()]) as (server, upstream):
        url = server.url.removesuffix("/v1")
        async with opened(url) as client, opened(url) as idle:
            await client.send(input="Hello")
            await client.send(input="And?")
            first = await client.beginning()
            server.process.send_signal(signal.SIGTERM)
            assert await idle.closed() == GOING_AWAY
            gate.open()
            events = first + await client.answer()
            judged(events)
            assert text_of(events) == "one more"
            assert error_of(await client.event()) == (503, "overloaded", "")
            assert await client.closed() == GOING_AWAY
        assert await asyncio.to_thread(server.process.wait, 10) == 0
    assert len(upstream.asks) == 1


async def test_a_turn_that_takes_too_long_then_is_failed(tmp_path: Path) -> None:
    script: Script = [opens(), says("one"), Hang()]
    with stopping(tmp_path, script, AM_SHUTDOWN_GRACE="0.3") as (server, upstream):
        async with opened(server.url.removesuffix("/v1")) as client:
            await client.send(input="Hello")
            first = await client.beginning()
            server.process.send_signal(signal.SIGTERM)
            events = first + await client.answer()
            judged(events)
            assert events[-1]["type"] == "response.failed"
            assert await client.closed() == GOING_AWAY
        assert await asyncio.to_thread(server.process.wait, 10) == 0
        assert upstream.asks[0].wait_gone()


async def test_clients_that_read_nothing_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """Those who read are told the end; the others are cut before uvicorn cancels what waits for them, and says so."""
    much: list[Step] = [opens(), *[says("word " * 2000)] * 400, Hang()]
    little: list[Step] = [opens(), says("word"), Hang()]
    log = tmp_path / "log"
    with (
        log.open("w") as errors,
        ChatUpstream(lambda ask: little if "Hello" in str(ask.body) else much) as upstream,
        running(
            *("--upstream", upstream.url, "--via", "chat"),
            folder=tmp_path,
            environ={"AM_SHUTDOWN_GRACE": "0.3"},
            log=errors,
        ) as server,
    ):
        port = int(server.url.removesuffix("/v1").rpartition(":")[2])
        silent = [await connect_without_reading(port) for _ in range(5)]
        async with opened(server.url.removesuffix("/v1")) as client:
            await client.send(input="Hello")
            while (await client.event())["type"] != "response.output_text.delta":
                pass
            server.process.send_signal(signal.SIGTERM)
            assert (await client.answer())[-1]["type"] == "response.failed"
            assert await client.closed() == GOING_AWAY
        assert await asyncio.to_thread(server.process.wait, 10) == 0
        for _, writer in silent:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    assert "Cancel" not in log.read_text()
