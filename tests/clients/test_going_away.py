"""A client that goes away stops the upstream, however it asked and whenever it goes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import APITimeoutError, AsyncOpenAI, OpenAI

from tests.clients.proxied_upstream import ProxiedUpstream
from tests.wire.script import opens, says
from tests.wire.servers import Hang, Latch


@pytest.fixture
async def client(proxied: ProxiedUpstream) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def check_gone(proxied: ProxiedUpstream, model: str) -> None:
    """It takes less than a second on a quiet machine."""
    [ask] = proxied.asks(model)
    assert ask.wait_gone(10), "the upstream was never left"


async def test_closing_a_stream_midway(proxied: ProxiedUpstream, client: AsyncOpenAI) -> None:
    proxied.set_scripts("closing", [opens(), says("Once"), Hang()])
    async with client.responses.stream(model="closing", input="hi") as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
    check_gone(proxied, "closing")


def test_closing_a_stream_midway_from_a_plain_client(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("plain", [opens(), says("Once"), Hang()])
    with (
        OpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0) as client,
        client.responses.create(model="plain", input="hi", stream=True) as stream,
    ):
        next(event for event in stream if event.type == "response.output_text.delta")
    check_gone(proxied, "plain")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("spoken", [False, True], ids=["before the first word", "after the first word"])
async def test_cancelling_a_request_while_it_waits(
    proxied: ProxiedUpstream, client: AsyncOpenAI, *, stream: bool, spoken: bool
) -> None:
    """Without the first word a stream has no status line yet: this is another place in the server."""
    model, waits = f"cancelled-{stream}-{spoken}", Latch()
    proxied.set_scripts(model, [opens(), says("Once"), waits] if spoken else [waits])

    async def read() -> None:
        answer: Any = await client.responses.create(model=model, input="hi", stream=stream)
        if stream:
            async with answer as events:
                async for _ in events:
                    pass

    reading = asyncio.create_task(read())
    assert await asyncio.to_thread(waits.reached.wait, 20), "the upstream was never asked"
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.to_thread(check_gone, proxied, model)


def test_a_client_that_loses_patience(proxied: ProxiedUpstream) -> None:
    proxied.set_scripts("patience", [Hang()])
    with (
        OpenAI(base_url=f"{proxied.url}/v1", api_key="any", max_retries=0, timeout=1) as client,
        pytest.raises(APITimeoutError),
    ):
        client.responses.create(model="patience", input="hi")
    check_gone(proxied, "patience")
