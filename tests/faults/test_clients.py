"""Clients that reset or half-close their connection, or are cancelled by the hundred, and what they leave behind."""

import asyncio
import json
import os
import random
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import own_program, serving
from tests.wire.script import opens, says
from tests.wire.servers import Ask, ChatUpstream, Hang, Pause, Step

BODY = json.dumps({"model": "m", "input": "Hi", "stream": True}).encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
WHOLE = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY


def settings(url: str, **server: Any) -> str:
    upstreams = {"u": Upstream(via="chat", base_url=url)}
    return Settings(server=Server(**server), upstreams=upstreams, models={"m": Model(upstream="u")})


@pytest.mark.parametrize("how", ["reset", "half-closed"])
def test_a_client_that_goes_away_in_another_way(how: str) -> None:
    with (
        ChatUpstream([opens(), says("Once"), Hang()]) as upstream,
        serving(settings(upstream.url)) as url,
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as client,
    ):
        client.sendall(WHOLE)
        text = b""
        while b"Once" not in text:
            text += client.recv(4096)
        if how == "half-closed":
            client.shutdown(socket.SHUT_WR)
        else:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            client.close()
        assert upstream.asks[0].wait_gone()


def descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


async def comes(true: Callable[[], bool]) -> bool:
    """Whether this comes to be, in a few seconds."""
    for _ in range(150):
        if true():
            return True
        await asyncio.sleep(0.02)
    return False


def resident(process: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_five_hundred_cancelled_clients_leave_nothing_behind() -> None:
    """Descriptors and memory are as after the first hundred, and every turn's place is free."""
    chance = random.Random(1)

    def script(_ask: Ask) -> list[Step]:
        return [Pause(0.01), opens(), *[step for _ in range(20) for step in (says("word "), Pause(0.005))], Hang()]

    async def cancelled(client: httpx.AsyncClient, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await read(client, to_the_end=True)

    async def read(client: httpx.AsyncClient, *, to_the_end: bool) -> None:
        async with client.stream("POST", "/v1/responses", content=BODY) as answer:
            assert answer.status_code == 200
            async for piece in answer.aiter_raw():
                if not to_the_end and b"word" in piece:
                    break

    limits, headers = httpx.Limits(max_keepalive_connections=0), {"content-type": "application/json"}
    with ChatUpstream(script) as upstream, own_program(settings(upstream.url, max_turns=500, watch=0)) as program:
        process = program.process.pid
        measured: list[tuple[int, int]] = []
        for hundred in range(6):
            async with httpx.AsyncClient(base_url=program.url, limits=limits, headers=headers, timeout=50) as client:
                if not hundred:  # litellm takes its time to load, and the beginning may be told before
                    await read(client, to_the_end=False)
                for _ in range(5):
                    await asyncio.gather(*(cancelled(client, chance.uniform(0.0, 0.12)) for _ in range(20)))
            assert await comes(lambda: all(ask.answered.is_set() for ask in upstream.asks)), "one was not left"
            await comes(lambda: not measured or descriptors(process) <= measured[0][0] + 5)
            measured.append((descriptors(process), resident(process)))
    (before, held), (after, holds) = measured[0], measured[-1]
    assert after <= before + 5, measured
    assert holds - held < 10 * 1024 * 1024, measured
