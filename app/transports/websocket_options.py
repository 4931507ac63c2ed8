"""The options of uvicorn for websockets. Their room and their library are loaded for the first one: 20 ms, 2 MB."""

import asyncio
from typing import TYPE_CHECKING, Any

from ..settings import Server

if TYPE_CHECKING:
    from .websocket_guard import WebSocketGuard


def socket_options(server: Server) -> dict[str, Any]:
    """What uvicorn is given. No compression: it gains little on events that are sent one by one."""
    return {"ws": _guard, "ws_max_size": server.max_body_bytes, "ws_per_message_deflate": False}


def is_offer(head: bytes) -> bool:
    """Whether the websocket library accepts this head of a request."""
    from .websocket_guard import accepts  # noqa: PLC0415 — for the first websocket

    return accepts(head)


def is_websocket(protocol: asyncio.BaseProtocol) -> bool:
    """Whether a protocol of uvicorn is that of a websocket. Only those of HTTP control the flow themselves."""
    return not hasattr(protocol, "flow")


def _guard(**given: Any) -> "WebSocketGuard":
    from .websocket_guard import WebSocketGuard  # noqa: PLC0415 — as above

    return WebSocketGuard(**given)
