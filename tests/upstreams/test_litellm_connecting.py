"""A server that cannot be reached is given up soon by every lane, however patient it is with one that answers."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from app.protocol.problems import Problem
from app.upstreams.http_chat import HttpChat
from app.upstreams.litellm_chat import LitellmChat, load
from app.upstreams.native_responses import NativeResponses
from tests.support.upstream_asks import KEY, answers, asks
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, Pause

UNREACHABLE = Problem(code="upstream_error", message="The upstream could not be reached.")


@pytest.fixture
def black_hole() -> Iterator[str]:
    """An address where connecting takes for ever: somebody listens, and nobody is taken from a queue that is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 — socket's own signature
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.mark.parametrize("provider", [None, "openai", "groq", "anthropic", "gemini"])
async def test_litellm_gives_up_a_server_that_cannot_be_reached(black_hole: str, provider: str | None) -> None:
    chat = LitellmChat(provider, api_key=KEY, base_url=black_hole, timeout=30, connect=0.2)
    load()  # it takes seconds
    async with asyncio.timeout(5):
        assert await answers(chat, asks(provider)) == ([], UNREACHABLE)


async def test_the_other_lanes_do_so_too(black_hole: str) -> None:
    for lane in (HttpChat, NativeResponses):
        upstream = lane(black_hole, timeout=30, connect=0.2)
        async with asyncio.timeout(5):
            assert await answers(upstream, asks()) == ([], UNREACHABLE)
        await upstream.close()


async def test_a_server_that_was_reached_may_take_longer_than_that() -> None:
    with ChatUpstream([Pause(0.4), *text_turn("Hi")]) as upstream:
        for provider in (None, "openai"):
            chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url, timeout=30, connect=0.2)
            chunks, problem = await answers(chat, asks(provider))
            assert (len(chunks) > 0, problem) == (True, None)
