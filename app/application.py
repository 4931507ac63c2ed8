"""The application of one configuration, and the change to that of another while the server runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.shared_state import SharedState

log = logging.getLogger("am_proxy")


@dataclass(frozen=True)
class Application:
    """What serves requests under one configuration."""

    app: FastAPI
    shared: SharedState
    follow: Callable[[], None]
    """Applies this configuration to the shared state. It cannot fail."""
    leave: Callable[[], None]
    """Ends what would otherwise last for hours under this configuration: websockets, and pages that watch turns."""
    close: Callable[[], Awaitable[None]]
    """Closes what it holds, when the last of its requests has ended."""


class CurrentApplication:
    """Passes each request to the application of the current configuration. uvicorn is given this one."""

    def __init__(self, application: Application) -> None:
        self._first = application
        self._now = _Serving(application)

    @property
    def application(self) -> Application:
        """What serves new requests."""
        return self._now.application

    async def swap(self, application: Application) -> None:
        """New requests go to this one. The one before closes what it holds when its last request has ended."""
        before, self._now = self._now, _Serving(application)
        before.busy += 1  # it may have none
        application.follow()
        before.application.leave()
        await self._end_request(before)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            lifespan = _Lifespan(receive, send, self._close)
            await self._first.app(scope, lifespan.receive, lifespan.send)
            return
        serving = self._now
        serving.busy += 1
        try:
            await serving.application.app(scope, receive, send)
        finally:
            await self._end_request(serving)

    async def _end_request(self, serving: "_Serving") -> None:
        serving.busy -= 1
        if serving is not self._now and not serving.busy:
            try:
                await serving.application.close()
            except Exception:  # it is no fault of the request that happened to be the last
                log.exception("what the former configuration held could not be closed")

    async def _close(self) -> None:
        await self._now.application.close()


class _Serving:
    """An application, and how many of its requests run."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.busy = 0


class _Lifespan:
    """The lifespan messages between the server and the first application."""

    def __init__(self, receive: Receive, send: Send, close: Callable[[], Awaitable[None]]) -> None:
        self._receive = receive
        self._send = send
        self._close = close
        self._cancelled = False

    async def receive(self) -> Message:
        """The server's next message. At the end, the application that serves by then closes what it holds."""
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            self._cancelled = True
            raise
        if message["type"] == "lifespan.shutdown":
            await self._close()
        return message

    async def send(self, message: Message) -> None:
        """The application's message. Nothing is sent once the server was stopped by force: it would be an error."""
        if not self._cancelled:
            await self._send(message)
