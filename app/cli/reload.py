"""Other settings while the server runs. What began before goes on under the settings it began with."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.cli.logs import configure
from app.main import TracingUnavailableError, build_app
from app.sealing import SealingUnavailableError
from app.settings import ConfigMistakesError, Server, Settings

log = logging.getLogger("am_proxy")

NEEDS_A_RESTART = {
    "drain_delay": "",
    "header_timeout": "",
    "host": "",
    "max_body_bytes": "for websockets",
    "max_header_bytes": "",
    "port": "",
    "send_timeout": "for HTTP",
    "shutdown_grace": "",
}
"""Settings that the server itself was started with, some of them in part; what it serves has all others anew."""


class Serving:
    """An application, and how many of its requests run."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.busy = 0


class Swappable:
    """The application that serves now. uvicorn is given this one, and never learns that there is another."""

    def __init__(self, app: FastAPI) -> None:
        self._first = app
        self._now = Serving(app)

    @property
    def app(self) -> FastAPI:
        """Who serves new requests."""
        return self._now.app

    async def swap(self, app: FastAPI) -> None:
        """New requests go to this one. The other closes what it holds when the last of its requests is over."""
        before, self._now = self._now, Serving(app)
        before.busy += 1  # it may have none
        app.state.follow()
        before.app.state.leave()
        await self._leave(before)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            life = _Life(receive, send, self._retire)
            await self._first(scope, life.hear, life.tell)
            return
        serving = self._now
        serving.busy += 1
        try:
            await serving.app(scope, receive, send)
        finally:
            await self._leave(serving)

    async def _leave(self, serving: Serving) -> None:
        serving.busy -= 1
        if serving is not self._now and not serving.busy:
            try:
                await serving.app.state.retire()
            except Exception:  # it is no fault of the request that happened to be the last
                log.exception("what the former configuration held could not be closed")

    async def _retire(self) -> None:
        await self._now.app.state.retire()


class _Life:
    """What the server and the application say to each other of beginning and end."""

    def __init__(self, receive: Receive, send: Send, retire: Callable[[], Awaitable[None]]) -> None:
        self._receive = receive
        self._send = send
        self._retire = retire
        self._cut = False

    async def hear(self) -> Message:
        """The server's word. At the end, whatever serves by then closes what it holds."""
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            self._cut = True
            raise
        if message["type"] == "lifespan.shutdown":
            await self._retire()
        return message

    async def tell(self, message: Message) -> None:
        """The application's word. That it was cut short is no news where somebody insisted on that."""
        if not self._cut:
            await self._send(message)


async def reload(swappable: Swappable, settings: Settings, read: Callable[[], Settings]) -> Settings:
    """Read the settings again and serve with them. If the new ones have errors, the running ones are kept.

    They are followed whole or not at all: all that may fail happens before anything is changed.
    """
    try:
        told = read()
        app = build_app(told, swappable.app)
    except ConfigMistakesError as error:
        for mistake in error.mistakes:
            log.error("the new configuration has errors, and the running configuration is kept: %s", mistake)  # noqa: TRY400 — as below
        return settings
    except (SealingUnavailableError, TracingUnavailableError) as error:
        log.error("the new configuration cannot be used, and the running configuration is kept: %s", error)  # noqa: TRY400 — the words say it all
        return settings
    except Exception:
        log.exception("the new configuration cannot be used, and the running configuration is kept")
        return settings
    await swappable.swap(app)
    configure(told.server.log_format, told.server.log_level)
    if waiting := _waiting(settings.server, told.server):
        log.warning("the configuration was reloaded; %s only after a restart", waiting)
    else:
        log.info("the configuration was reloaded")
    return told


def _waiting(old: Server, new: Server) -> str:
    """What has changed without taking effect, as the beginning of a sentence."""
    names = [name for name in NEEDS_A_RESTART if getattr(old, name) != getattr(new, name)]
    parts = [f"{name} {NEEDS_A_RESTART[name]}" for name in names if NEEDS_A_RESTART[name]]
    verb = "takes effect" if len(names) == 1 else "take effect"
    told = ", ".join(f"server.{name}" for name in names)
    return f"{told} {verb}" + (f" (in part: {', '.join(parts)})" if parts else "") if names else ""
