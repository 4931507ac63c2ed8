"""Clients that go away in every phase, half-close, or are cancelled by the hundred, and what they leave behind."""

import asyncio
import json
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import own_program, serving
from tests.wire.script import opens, says, text_turn
from tests.wire.servers import Ask, ChatUpstream, Hang, Pause, Step

BODY = json.dumps({"model": "m", "input": "Hi", "stream": True}).encode()
HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
WHOLE = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
PHASES = {
    "before a word": b"",
    "in the request line": HEAD[:9],
    "in the headers": HEAD,
    "before the body": HEAD + b"content-length: %d\r\n\r\n" % len(BODY),
    "in the body": WHOLE[:-5],
}


def settings(url: str, **server: Any) -> str:
    upstreams = {"u": Upstream(via="chat", base_url=url)}
    return Settings(server=Server(**server), upstreams=upstreams, models={"m": Model(upstream="u")})


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[str, ChatUpstream]]:
    """A server that runs two turns at once: one that is left hanging would soon be missed."""

    def script(ask: Ask) -> list[Step]:
        return [*text_turn("Hi")] if ask.body["messages"][-1]["content"] == "well" else [opens(), says("Once"), Hang()]

    with ChatUpstream(script) as upstream, serving(settings(upstream.url, max_turns=2)) as url:
        yield url, upstream


def knock(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def is_well(url: str) -> bool:
    answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "well"}, timeout=50)
    return answer.status_code == 200


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_client_that_goes_away_while_it_asks(proxied: tuple[str, ChatUpstream], phase: str, *, reset: bool) -> None:
    url, upstream = proxied
    asked = len(upstream.asks)
    for _ in range(2):
        with knock(url) as client:
            client.sendall(PHASES[phase])
            time.sleep(0.02)
            if reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    assert is_well(url)
    assert len(upstream.asks) == asked + 1


@pytest.mark.parametrize("how", ["closed", "reset", "half-closed"])
@pytest.mark.parametrize("when", ["asked", "answered", "in mid-stream"])
def test_a_client_that_goes_away_while_it_is_answered(proxied: tuple[str, ChatUpstream], when: str, how: str) -> None:
    url, upstream = proxied
    for _ in range(2):
        asked = len(upstream.asks)
        with knock(url) as client:
            client.sendall(WHOLE)
            text = b""
            while when != "asked" and (b"Once" if when == "in mid-stream" else b"200 OK") not in text:
                text += client.recv(4096)
            while len(upstream.asks) == asked:
                time.sleep(0.002)
            if how == "half-closed":
                client.shutdown(socket.SHUT_WR)
                assert upstream.asks[-1].wait_gone(), "who ends its side of a connection has left"
            elif how == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        assert upstream.asks[-1].wait_gone(), "the upstream was not left"
    assert is_well(url)


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
