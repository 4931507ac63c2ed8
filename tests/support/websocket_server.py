"""A server before a scripted upstream, for tests of its websocket."""

import asyncio
import json
from typing import Any, Literal

from app.settings import Model, Server, Settings, Upstream
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Script


def settings_of(upstream: ChatUpstream | ResponsesUpstream, **server: Any) -> Settings:
    """A server before this upstream, which has a model of any name."""
    via: Literal["responses", "chat"] = "responses" if isinstance(upstream, ResponsesUpstream) else "chat"
    return Settings(
        server=Server(**server),
        upstreams={"scripted": Upstream(via=via, base_url=upstream.url)},
        models={"*": Model(upstream="scripted")},
    )


class WebsocketServer:
    """Both, for many tests."""

    def __init__(self, url: str, upstream: ChatUpstream) -> None:
        self.url = url
        self.upstream = upstream

    def set_scripts(self, *scripts: Script) -> None:
        """What the upstream says from now on, ask by ask."""
        self.upstream.scripts = scripts
        self.upstream.asks.clear()

    def messages(self) -> list[tuple[str, str]]:
        """Role and content of each message of the last ask."""
        return [(entry["role"], entry["content"]) for entry in self.upstream.asks[-1].body["messages"]]


GOING_AWAY = 1001


async def connect_without_reading(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A websocket that has asked, and of whose answer next to nothing is read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: QtBZpa3CKSyEX++LA7aFfQ==\r\n\r\n"
    )
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    frame = json.dumps({"type": "response.create", "model": "demo", "input": "Hi"}).encode()
    writer.write(bytes([0x81, 0x80 | len(frame), 0, 0, 0, 0]) + frame)
    return reader, writer
