"""Requests for litellm, and what its providers are asked."""

from typing import Any

from app.upstreams.litellm_chat import LitellmChat
from tests.support.upstream_asks import KEY, answers, server
from tests.wire.script import text_turn
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

Json = dict[str, Any]


SCRIPTS: dict[str, list[Any]] = {
    "anthropic": [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()],
    "gemini": [candidate({"text": "Hi"}, finish="STOP")],
}


async def sent(
    provider: str | None, ask: Json, *, api_key: str | None = KEY, also: str = ""
) -> tuple[Json, dict[str, str]]:
    """The body and the headers that the upstream got."""
    with server(provider, SCRIPTS.get(str(provider), text_turn("Hi"))) as upstream:
        if also:
            upstream.also = frozenset({also})  # type: ignore[attr-defined]  # of the chat server, the only one asked so
        _, problem = await answers(LitellmChat(provider, api_key=api_key, base_url=upstream.url), ask)
        assert problem is None
        [got] = upstream.asks
    return got.body, got.headers
