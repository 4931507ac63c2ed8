"""The application of one configuration, and its replacement by that of another while the server runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .lean_fastapi import FastAPI
from .shared_state import SharedState

log = logging.getLogger("am_proxy")


@dataclass(frozen=True)
class Application:
    """The server under one configuration."""

    app: ASGIApp
    """What serves requests."""
    fastapi: FastAPI
    """The part of it that serves all but the endpoints of turns."""
    shared: SharedState
    follow: Callable[[], None]
    """Applies this configuration to the shared state. It cannot fail."""
    leave: Callable[[], None]
    """Ends what would otherwise last for hours under this configuration: websockets, and pages that watch turns."""
    listed: Callable[[], Awaitable[list[str]]]
    """Models that the configuration does not name, but the upstream of `[models."*"]` lists."""
    close: Callable[[], Awaitable[None]]
    """Closes what it holds, when the last of its requests has ended."""


class CurrentApplication:
    """Passes each request to the application of the current configuration. It is the one that uvicorn runs."""

    def __init__(self, application: Application) -> None:
        self._first = application
        self._current = _Serving(application)

    @property
    def application(self) -> Application:
        """The application that serves new requests."""
        return self._current.application

    async def swap(self, application: Application) -> None:
        """Send new requests to this one. The former one closes what it holds when its last request has ended."""
        before, self._current = self._current, _Serving(application)
        before.running += 1  # so that the last line closes it if no request runs
        application.follow()
        before.application.leave()
        await self._end_request(before)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            lifespan = _Lifespan(receive, send, self._close)
            await self._first.app(scope, lifespan.receive, lifespan.send)
            return
        serving = self._current
        serving.running += 1
        try:
            await serving.application.app(scope, receive, send)
        finally:
            await self._end_request(serving)

    async def _end_request(self, serving: "_Serving") -> None:
        serving.running -= 1
        if serving is not self._current and not serving.running:
            try:
                await serving.application.close()
            except Exception:  # the request that was the last must not fail because of it
                log.exception("closing the former configuration failed")

    async def _close(self) -> None:
        await self._current.application.close()


@dataclass(eq=False)
class _Serving:
    """An application and the number of its running requests."""

    application: Application
    running: int = 0


class _Lifespan:
    """The lifespan messages between the server and the first application."""

    def __init__(self, receive: Receive, send: Send, close: Callable[[], Awaitable[None]]) -> None:
        self._receive = receive
        self._send = send
        self._close = close
        self._cancelled = False

    async def receive(self) -> Message:
        """The server's next message. At the end, the current application closes what it holds."""
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
