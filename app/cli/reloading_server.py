"""The server as uvicorn runs it: the banner when it is ready, a reload at SIGHUP, and an orderly end."""

import asyncio
import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import cast

import uvicorn

from ..application import Application, CurrentApplication
from ..main import build_http_guard
from ..settings import Settings
from ..transports.acceptor import Acceptor
from ..transports.websocket_options import is_websocket, socket_options
from .banner import banner, shows_listed, stopping
from .listening import BACKLOG
from .logs import columns_of
from .reload import reload
from .style import colour_wanted

log = logging.getLogger("am_proxy")

GOODBYE = 1.5
"""Seconds for sending the last events of turns that were ended, before their connections are closed."""
_LAST = 0.5
"""Seconds for the end of turns whose connections were closed: above all, for closing their upstreams."""
_TICK = 0.05
_IDLE = 75
"""Seconds an idle connection is kept: longer than the 60 after which common load balancers close theirs."""


YOUNG = 20_000
"""Objects that are made before the garbage collector looks at them. By then nearly all are gone by themselves. To look
at them each 700, which is Python's default, took some per cent of a request's time, and each 5,000 still two per cent.
"""


class ReloadingServer(uvicorn.Server):
    """uvicorn, with a banner when it is ready, a reload at SIGHUP, and an exit code of 0 when a signal stops it."""

    def __init__(
        self,
        application: Application,
        settings: Settings,
        listener: socket.socket,
        read: Callable[[], Settings] | None = None,
        *,
        ready: Callable[[], None] | None = None,
    ) -> None:
        """`ready` is called instead of printing the banner."""
        self._current = CurrentApplication(application)
        super().__init__(
            uvicorn.Config(
                self._current,
                http=build_http_guard(settings.server, application.shared.connections),
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                **socket_options(settings.server),
                backlog=BACKLOG,
                timeout_keep_alive=_IDLE,
                # uvicorn wants whole seconds, and waits for any number of them
                timeout_graceful_shutdown=settings.server.shutdown_grace + GOODBYE,  # type: ignore[arg-type]
            )
        )
        self._settings = settings
        self._read = read
        self._ready = ready
        self._latest = settings
        """The settings read last; the server itself keeps those it was started with."""
        self._reloading: asyncio.Future[None] | None = None
        self._limits = application.shared.limits
        self._acceptors: list[Acceptor] = []
        self._leaves_at: float | None = None
        self._port: int = listener.getsockname()[1]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print the banner, or say that it is ready."""
        if sys.platform == "win32":
            await super().startup(sockets)
        else:
            await super().startup([])
            self._connect(sockets or [])
        if self._read is not None and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        # the garbage collector skips what is loaded by now; scanning it took a sixth of the time of a large request
        gc.freeze()
        gc.set_threshold(YOUNG)
        gc.enable()
        if self.started and self._ready is not None:
            self._ready()
        elif self.started:
            listed = await self._current.application.listed() if shows_listed(self._settings) else []
            colour, columns = colour_wanted(sys.stdout), columns_of(sys.stdout)
            print(banner(self._settings, self._port, listed, colour=colour, columns=columns), flush=True)

    def _connect(self, listeners: list[socket.socket]) -> None:
        connections = self._current.application.shared.connections
        loop = asyncio.get_running_loop()

        def make_protocol() -> asyncio.Protocol:
            protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )
            return protocol

        self._acceptors = [
            Acceptor(each, make_protocol, connections, backlog=BACKLOG, leaves=self._leaves) for each in listeners
        ]
        self.servers = cast("list[asyncio.Server]", self._acceptors)

    def _leaves(self, opening: int) -> float:  # noqa: ARG002 — for workers
        """For how many seconds new connections are left to other processes."""
        return 0

    def stop_now(self) -> None:
        """Stop at once, without waiting for turns. For other threads."""
        self._limits.leave()
        self.force_exit = self.should_exit = True

    def _reload(self) -> None:
        """Reload when the running reload is done: it may have read the old file."""
        self._reloading = asyncio.ensure_future(self._reload_after(self._reloading))

    async def _reload_after(self, other: asyncio.Future[None] | None) -> None:
        if other is not None:
            await asyncio.wait({other})  # even if it failed or was cancelled
        if self._read is None:
            return
        try:
            self._latest = await reload(self._current, self._latest, self._read)
        except Exception:
            log.exception("a reload failed unexpectedly")
        gc.unfreeze()  # the former configuration is not needed any more
        gc.collect()
        gc.freeze()

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to stop."""
        if self._leaves_at is not None and time.monotonic() >= self._leaves_at:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no new connections; wait for turns to end, then end those that still run."""
        loop = asyncio.get_running_loop()
        recorder = self._current.application.shared.recorder
        if recorder is not None:
            recorder.end_watching()
        ending = loop.call_later(self._settings.server.shutdown_grace, self._limits.end)
        cutting = loop.call_later(self._settings.server.shutdown_grace + GOODBYE - _LAST, self._cut_stalled)
        insisting = loop.create_task(self._insist())
        is_read = self._ready is None and self._settings.server.log_format != "json" and sys.stderr.isatty()
        if is_read and (running := len(self._limits.slots)):
            print(f"\r{stopping(running, self._settings.server.shutdown_grace)}", file=sys.stderr)  # over the ^C
        await self._stop_listening()
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()
            cutting.cancel()
            insisting.cancel()
            if self.force_exit:
                self._cut()
                if self.server_state.tasks:  # they end in a moment
                    await asyncio.wait(set(self.server_state.tasks), timeout=_LAST)

    async def _stop_listening(self) -> None:
        """Accept the connections that exist by now, and no others: those in the system's queue would be reset."""
        for server in self.servers:
            server.close()
        for acceptor in self._acceptors:
            await acceptor.wait_closed()
        await asyncio.sleep(0)

    async def _insist(self) -> None:
        """Close every connection after a second signal: uvicorn would wait for them even then."""
        while not self.force_exit:  # noqa: ASYNC110 — it is set by a signal handler
            await asyncio.sleep(_TICK)
        self._cut()

    def _cut_stalled(self) -> None:
        """Close connections that have not read the last event by now: uvicorn would cancel their turns, and log it.

        A request whose body is still arriving is left to uvicorn, as it can be answered.
        """
        for connection in list(self.server_state.connections):
            flow = getattr(connection, "flow", None)
            if is_websocket(connection) or (flow is not None and flow.write_paused):
                connection.transport.abort()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 — uvicorn's signature
        """Stop gracefully at the first signal, at once at the second. uvicorn's own handler raises the signal again.

        Ctrl-C does not wait until load balancers have noticed.
        """
        self._limits.leave()
        if self._leaves_at is not None:
            self.force_exit = self.should_exit = True
            return
        delay = 0 if sig == signal.SIGINT else self._settings.server.drain_delay
        self._leaves_at = time.monotonic() + delay
        self.should_exit = not delay
