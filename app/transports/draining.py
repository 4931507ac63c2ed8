"""uvicorn's websocket protocol, taught to end in peace."""

import asyncio
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.settings import Server

DRAIN: Final = "websocket.drain"
"""What the application receives when the server is told to stop, once per connection."""
LINGER: Final = 5
"""Seconds in which a client that is through must take what it was sent; then its connection is dropped."""


class DrainingSocket(WebSocketsSansIOProtocol):
    """Tells the application of the server's end instead of cutting it, and keeps no connection that nobody reads."""

    _drop: asyncio.TimerHandle | None = None

    def shutdown(self) -> None:
        """The server was told to stop."""
        if self.handshake_complete and not self.close_sent:
            message: Any = {"type": DRAIN}
            self.queue.put_nowait(message)
        else:
            super().shutdown()

    async def send(self, message: Any) -> None:
        """What the application says."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # uvicorn would report a refusal as a fault of the application

    async def run_asgi(self) -> None:
        """One connection, to its end."""
        await super().run_asgi()
        if not self.disconnected:
            self._drop = self.loop.call_later(LINGER, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        if self._drop is not None:
            self._drop.cancel()
        super().connection_lost(exc)


def socket_options(server: Server) -> dict[str, Any]:
    """How uvicorn is to treat websockets. Without compression: of events that leave one by one it makes little."""
    return {"ws": DrainingSocket, "ws_max_size": server.max_body_bytes, "ws_per_message_deflate": False}
