"""One worker: the server as it is without workers, except that its supervisor tells it what to do."""

import asyncio
import gc
import logging
import signal
import socket
import time
from types import FrameType

from ..application import Application
from ..main import build_app
from ..observers.worker_rows import share_values
from ..settings import Settings
from ..workers.connection_share import BEAT
from ..workers.control_channel import GoneError, Message, Ready, Reload, Reloaded, Stop
from ..workers.divided_limits import divided
from ..workers.worker_part import WorkerPart
from .banner import shows_listed
from .logs import configure
from .reloading_server import ReloadingServer

log = logging.getLogger("am_proxy")


def work(part: WorkerPart, settings: Settings, listener: socket.socket) -> int:
    """Serve until the supervisor, or a signal, stops it."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor passes the new settings on
    configure(settings.server.log_format, settings.server.log_level, with_pid=True)
    share_values(part.segment)
    WorkerServer(part, settings, listener).run(sockets=[listener])
    return 0


class WorkerServer(ReloadingServer):
    """The server of one worker."""

    def __init__(self, part: WorkerPart, settings: Settings, listener: socket.socket) -> None:
        super().__init__(_application(settings, part), settings, listener, ready=lambda: None)
        self._part = part
        self._row = part.table.row(part.number)
        self._beating: asyncio.Task[None] | None = None
        self._last_reload: asyncio.Task[None] | None = None
        self._stops = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell the supervisor."""
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._part.channel.socket, self._receive)
        self._row.seen = time.monotonic()
        self._beating = loop.create_task(self._beat())
        is_asked = self._part.number == 0 and shows_listed(self._settings)  # for the banner, which is printed once
        self._send(Ready(tuple(await self._current.application.listed()) if is_asked else ()))

    def _leaves(self, opening: int) -> float:
        return self._part.share.pause(opening)

    async def _beat(self) -> None:
        while True:
            self._row.turns = len(self._limits.slots)
            metrics = self._current.application.shared.metrics
            if metrics is not None:
                metrics.write()
            await asyncio.sleep(BEAT)
            if self._row.seen:
                self._row.seen = time.monotonic()

    async def _stop_listening(self) -> None:
        self._row.seen = 0  # the others leave no connections to it
        await super()._stop_listening()

    def _send(self, message: Message) -> None:
        try:
            self._part.channel.send(message)
        except GoneError:
            self._lost_supervisor()

    def _receive(self) -> None:
        messages = self._part.channel.receive()
        if messages is None:
            self._lost_supervisor()
            return
        for message in messages:
            match message:
                case Reload(settings):
                    self._last_reload = asyncio.ensure_future(self._reload_with(settings, self._last_reload))
                case Stop(delay, at_once):
                    self._stop_after(delay)
                    self.force_exit = self.force_exit or at_once
                case Ready() | Reloaded():
                    raise AssertionError

    def _lost_supervisor(self) -> None:
        """The supervisor is gone, however that came: nobody would replace or stop this process."""
        asyncio.get_running_loop().remove_reader(self._part.channel.socket)
        if not self._stops:
            log.error("the supervisor of this worker has ended, so the worker ends too")
        self._stop_after(0)

    def _stop_after(self, delay: float) -> None:
        """Stop in an orderly way. Another signal, which a terminal sends to all processes, changes nothing."""
        self._limits.leave()
        at = time.monotonic() + delay
        self._leaves_at = at if self._leaves_at is None else min(at, self._leaves_at)
        self._stops = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 — uvicorn's signature
        """Stop in an orderly way. Only the supervisor can end it at once, apart from SIGKILL."""
        self._stop_after(0 if sig == signal.SIGINT else self._settings.server.drain_delay)

    async def _reload_with(self, settings: Settings, other: asyncio.Task[None] | None) -> None:
        if other is not None:
            await asyncio.wait({other})
        try:
            application = build_app(divided(settings, self._part.count), self._current.application.shared)
            await self._current.swap(application)
        except Exception:
            log.exception("this worker cannot use the new configuration, and is replaced by one that does")
            self._stop_after(0)
            return
        configure(settings.server.log_format, settings.server.log_level, with_pid=True)
        gc.unfreeze()  # the former configuration is not needed any more
        gc.collect()
        gc.freeze()
        self._send(Reloaded())


def _application(settings: Settings, part: WorkerPart) -> Application:
    """The application. What building it has to say was said when the settings were checked."""
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        return build_app(divided(settings, part.count), worker=part)
    finally:
        log.setLevel(level)
