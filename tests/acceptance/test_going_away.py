"""A client that goes away stops the upstream within a second, however it asked and whenever it goes."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import APITimeoutError, AsyncOpenAI, OpenAI

from tests.support.proxied_upstream import ProxiedUpstream
from tests.support.script import opens, says
from tests.support.servers import Ask, Hang

pytestmark = pytest.mark.xdist_group("litellm")
SECOND = 1.0


@pytest.fixture
async def client(proxied: ProxiedUpstream) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0) as client:
        yield client


async def first_ask(proxied: ProxiedUpstream, model: str) -> Ask:
    """Wait until the upstream has been asked."""
    for _ in range(500):
        if asks := proxied.asks(model):
            return asks[0]
        await asyncio.sleep(0.01)
    pytest.fail("the upstream was never asked")


def check_gone(ask: Ask, left: float) -> None:
    assert ask.wait_gone(5), "the upstream was never left"
    assert ask.gone_at is not None
    assert ask.gone_at - left < SECOND


async def test_closing_a_stream_midway(proxied: ProxiedUpstream, client: AsyncOpenAI) -> None:
    proxied.set_scripts("closing", [opens(), says("Once"), Hang()])
    async with client.responses.stream(model="closing", input="hi") as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        left = time.monotonic()
    check_gone(proxied.asks("closing")[0], left)


def test_closing_a_stream_midway_from_a_plain_client(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("plain", [opens(), says("Once"), Hang()])
    with (
        OpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0) as client,
        client.responses.create(model="plain", input="hi", stream=True) as stream,
    ):
        next(event for event in stream if event.type == "response.output_text.delta")
        left = time.monotonic()
    check_gone(proxied.asks("plain")[0], left)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("chat_turn", [False, True], ids=["before the first word", "after the first word"])
async def test_cancelling_a_request_while_it_waits(
    proxied: ProxiedUpstream,
    client: AsyncOpenAI,
    stream: bool,  # noqa: FBT001 — two by two ways to leave
    chat_turn: bool,  # noqa: FBT001 — as above
) -> None:
    """Without the first word a stream has no status line yet: this is another place in the server."""
    model = f"cancelled-{stream}-{chat_turn}"
    proxied.set_scripts(model, [opens(), says("Once"), Hang()] if chat_turn else [Hang()])

    async def read() -> None:
        answer: Any = await client.responses.create(model=model, input="hi", stream=stream)
        if stream:
            async with answer as events:
                async for _ in events:
                    pass

    reading = asyncio.create_task(read())
    ask = await first_ask(proxied, model)
    await asyncio.sleep(0.05)
    left = time.monotonic()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    check_gone(ask, left)


def test_a_client_that_loses_patience(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("patience", [Hang()])
    with OpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0, timeout=0.5) as client:
        with pytest.raises(APITimeoutError):
            client.responses.create(model="patience", input="hi")
        left = time.monotonic()
    check_gone(proxied.asks("patience")[0], left)
