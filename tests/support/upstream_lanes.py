"""Every lane to a model's server, and servers that close their connections behind each answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.upstreams.http_chat import HttpChat
from app.upstreams.litellm_chat import LitellmChat, close_connections
from app.upstreams.native_responses import NativeResponses
from app.upstreams.port import UpstreamPort
from tests.support.upstream_asks import KEY, asks
from tests.wire.script import text_turn
from tests.wire.servers import (
    Ask,
    ChatUpstream,
    ResponsesUpstream,
    Script,
    ScriptedUpstream,
)
from tests.wire.servers.responses import answer, message

Json = dict[str, Any]


LANES = ["chat", "responses", "as is", "llamafile", "hosted_vllm"]


class ClosingChat(ChatUpstream):
    """Closes its connection right behind every streamed answer, without having announced it, as llama.cpp does."""

    closing = True

    async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
        kept = await super()._play(ask, script, writer)
        return kept and not self.closing


class ClosingResponses(ResponsesUpstream):
    """The same with the other wire format."""

    closing = True

    async def _play(self, ask: Ask, script: Script, writer: asyncio.StreamWriter) -> bool:
        kept = await super()._play(ask, script, writer)
        return kept and not self.closing


def server(lane: str, *scripts: Script, closing: bool = False) -> ScriptedUpstream:
    kind = ClosingResponses if lane == "responses" else ClosingChat
    upstream = kind(*scripts)
    upstream.closing = closing
    return upstream


def greeting(lane: str) -> Script:
    return answer(message("msg_1", "Hi")) if lane == "responses" else text_turn("Hi")


@asynccontextmanager
async def client(lane: str, url: str, **settings: Any) -> AsyncIterator[tuple[UpstreamPort[Json, Json], Json]]:
    """An upstream of this lane and a small request for it."""
    if lane in {"chat", "responses"}:
        own: HttpChat | NativeResponses = (HttpChat if lane == "chat" else NativeResponses)(
            url, api_key=KEY, **settings
        )
        try:
            yield own, asks() if lane == "chat" else {"model": "m", "input": "Hi", "stream": True, "store": False}
        finally:
            await own.close()
        return
    try:
        yield LitellmChat(None if lane == "as is" else lane, api_key=KEY, base_url=url, **settings), asks()
    finally:
        await close_connections()
