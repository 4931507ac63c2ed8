"""A large request is written to its upstream in pieces, whole, and without a warning, on every lane.

Warnings are errors in these tests: one of aiohttp's, below litellm, would end the ask.
"""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from app.http_client.http_answer import HttpAnswer
from app.http_client.http_connection import LARGE as PIECE
from app.upstreams.litellm_transport import restrain
from app.upstreams.response_body import ResponseBody
from tests.support.upstream_asks import answers
from tests.support.upstream_lanes import LANES, client, greeting, server

LARGE = "large " * 250_000


@pytest.mark.parametrize("lane", LANES)
async def test_a_large_body_arrives_whole_and_with_its_length(lane: str) -> None:
    with server(lane, greeting(lane)) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            key = "input" if "input" in ask else "messages"
            content: Any = LARGE if key == "input" else [{"role": "user", "content": LARGE}]
            _, problem = await answers(chat, {**ask, key: content})
    assert problem is None
    [asked] = upstream.asks
    assert asked.body[key] == content
    assert asked.headers["content-length"] == str(len(asked.raw))
    assert "transfer-encoding" not in asked.headers


async def test_an_answer_that_is_there_at_once_is_read_in_pieces() -> None:
    """Between them others have their turn: a piece of a megabyte can hold a million lines."""
    body = b"x" * (10 * PIECE)
    answer = HttpAnswer(Mock())
    answer.begins(200, {})
    answer.add(body)
    answer.ends()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    pieces = [piece async for piece in ResponseBody(answer, set())]
    waiting.cancel()
    assert [len(piece) for piece in pieces] == [PIECE] * 10
    assert turns >= len(pieces)


async def test_an_answer_behind_litellm_that_is_there_at_once_is_read_in_turns_with_others() -> None:
    class AtOnce(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b"\n" * (PIECE // 4)

    class Transport:
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, request=request, stream=AtOnce())

    restrain(SimpleNamespace(LiteLLMAiohttpTransport=Transport))
    answer = await Transport().handle_async_request(httpx.Request("POST", "http://127.0.0.1/v1"))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    size = sum([len(piece) async for piece in answer.aiter_bytes()])
    waiting.cancel()
    assert (size, turns >= 10) == (10 * PIECE, True)
