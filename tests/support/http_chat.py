"""Asking a chat server directly, for real."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.options import ChatCompat
from app.protocol.problems import Problem
from app.upstreams.http_chat import HttpChat
from tests.support.upstream_asks import KEY, answers, asks
from tests.wire.servers import ChatUpstream, Step

Json = dict[str, Any]


@asynccontextmanager
async def direct(
    base_url: str, *, api_key: str | None = KEY, patience: float = 5, **compat: Any
) -> AsyncIterator[HttpChat]:
    """A chat server at this address, closed in the end."""
    chat = HttpChat(base_url, api_key=api_key, timeout=patience, compat=ChatCompat(**compat))
    try:
        yield chat
    finally:
        await chat.close()


async def read_answer(*script: Step, patience: float = 5, **settings: Any) -> tuple[list[Json], Problem | None]:
    """Every chunk, and what went wrong in the end."""
    with ChatUpstream(script) as upstream:
        async with direct(upstream.url, patience=patience) as chat:
            received = await answers(chat, asks(**settings))
        assert len(upstream.asks) == 1, "nothing is retried here"
    return received
