"""Several processes that share one port: starts them, replaces those that end, and passes signals on.

The supervisor serves nothing itself. It has no event loop and no thread, so that it can fork at any time; settings are
checked in a process of their own. Workers inherit the listening socket and what is loaded.
"""

import gc
import logging
import math
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Final

from ..settings import Settings
from ..workers.connection_share import ConnectionShare
from ..workers.control_channel import ControlChannel, GoneError, Message, Ready, Reload, Reloaded, Stop, pair
from ..workers.divided_limits import multiplied
from ..workers.worker_part import WorkerPart
from ..workers.worker_table import WorkerTable
from .banner import banner, stopping
from .forked import fork
from .logs import columns_of, configure
from .reload import say, say_reloaded
from .reloading_server import GOODBYE
from .settings_check import SettingsCheck, UsableSettings, next_check
from .signals import Signals
from .style import colour_wanted
from .worker_server import work

log = logging.getLogger("am_proxy")

_SHORTEST: Final = 0.1
_LONGEST: Final = 30.0
"""Seconds before a worker is replaced that ended before it was ready: each time twice as long."""
_MORE: Final = 5.0
"""Seconds that workers have to end, in addition to the time that their turns have."""


class _Worker:
    """A running worker, as the supervisor sees it."""

    def __init__(self, number: int, pid: int, channel: ControlChannel) -> None:
        self.number = number
        self.pid = pid
        self.channel = channel
        self.is_ready = False


class Supervisor:
    """Starts the workers, and replaces them."""

    def __init__(
        self, settings: Settings, read: Callable[[], Settings] | None, listener: socket.socket, count: int
    ) -> None:
        self._settings = settings
        self._read = read
        self._listener = listener
        self._table = WorkerTable(count)
        self._seal_key = os.urandom(32).hex()
        self._port: int = listener.getsockname()[1]
        self._workers: dict[int, _Worker] = {}
        """By their numbers."""
        self._due: dict[int, float] = dict.fromkeys(range(count), 0.0)
        """When to start workers that do not run, by their numbers."""
        self._failures: dict[int, int] = {}
        """How many times in a row a worker ended before it was ready."""
        self._listed: tuple[str, ...] = ()
        self._was_ready = False
        """Whether all have been ready once."""
        self._check: SettingsCheck | None = None
        self._is_outdated = False
        """Whether the settings changed again while they were checked."""
        self._waiting: set[int] = set()
        """Workers that have not taken over the latest settings."""
        self._before = settings
        self._ends_at: float | None = None
        """When workers are killed that have not ended; None while they shall run."""
        self._exit_code = 0
        self._signals = Signals()
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Supervise until all have ended."""
        gc.freeze()
        gc.enable()
        numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, *([signal.SIGHUP] if self._read else [])]
        self._selector.register(self._signals.sockets[0], selectors.EVENT_READ)
        with self._signals.caught(numbers):
            while self._workers or self._ends_at is None:
                self._start_due()
                for key, _ in self._selector.select(self._seconds_left()):
                    if isinstance(key.data, _Worker):
                        self._receive(key.data)
                    elif key.data is not None:
                        self._end_check(key.data)
                for number in self._signals.take():
                    self._obey(number)
                self._collect_ended()
                if self._ends_at is not None and time.monotonic() >= self._ends_at:
                    self._kill()
        if self._check is not None:
            self._check.cancel()
        if self._settings.server.log_format != "json" and sys.stderr.isatty() and not self._exit_code:
            print("\rstopped", file=sys.stderr)  # over the ^C that the terminal shows
        return self._exit_code

    def _start_due(self) -> None:
        now = time.monotonic()
        for number, at in list(self._due.items()):
            if at <= now:
                del self._due[number]
                try:
                    self._start(number)
                except OSError as error:  # too many processes or open files, or no memory
                    self._due[number] = now + (wait := self._wait_after_failure(number))
                    log.error("no worker can be started: %s; tried again in %g s", error.strerror, wait)  # noqa: TRY400 — the reason is enough

    def _start(self, number: int) -> None:
        mine, its = pair()

        def child() -> int:
            gc.disable()
            self._leave()
            mine.close()
            part = WorkerPart(number, self._table, its, self._seal_key, ConnectionShare(self._table, number))
            return work(part, self._settings, self._listener)

        worker = self._workers[number] = _Worker(number, fork(child), mine)
        its.close()
        self._table.row(number).pid = worker.pid
        self._selector.register(mine.socket, selectors.EVENT_READ, worker)

    def _leave(self) -> None:
        """In a forked process: closes what only the supervisor may hold, so that its end is noticed."""
        self._selector.close()
        for each in self._signals.sockets:
            each.close()
        for worker in self._workers.values():
            worker.channel.close()
        if self._check is not None:
            os.close(self._check.pipe)

    def _seconds_left(self) -> float | None:
        """How long to wait for signals and messages; None: as long as it takes."""
        first = min([*self._due.values(), math.inf if self._ends_at is None else self._ends_at])
        return None if first == math.inf else max(0.0, first - time.monotonic())

    def _receive(self, worker: _Worker) -> None:
        messages = worker.channel.receive()
        if messages is None:
            self._selector.unregister(worker.channel.socket)  # it ends, which is noticed in a moment
            return
        for message in messages:
            match message:
                case Ready(listed):
                    worker.is_ready = True
                    self._failures.pop(worker.number, None)
                    self._listed = self._listed or listed
                case Reloaded():
                    self._has_reloaded(worker.number)
                case Reload() | Stop():
                    raise AssertionError
        if not self._was_ready and all(number in self._workers for number in range(self._table.count)):
            self._was_ready = all(each.is_ready for each in self._workers.values())
            if self._was_ready:
                self._show_banner()

    def _show_banner(self) -> None:
        colour, columns = colour_wanted(sys.stdout), columns_of(sys.stdout)
        count = self._table.count
        print(banner(self._settings, self._port, self._listed, count, colour=colour, columns=columns), flush=True)

    def _obey(self, number: int) -> None:
        match number:
            case signal.SIGINT | signal.SIGTERM if self._ends_at is None:
                self._stop(0 if number == signal.SIGINT else self._settings.server.drain_delay)
            case signal.SIGINT | signal.SIGTERM:
                self._tell_all(Stop(0, at_once=True))
                self._ends_at = time.monotonic() + _MORE
            case signal.SIGCHLD:
                pass  # `_collect_ended` looks who has ended
            case _:
                self._reload()

    def _stop(self, delay: float) -> None:
        server = self._settings.server
        running = sum(row.turns for row in self._table)
        if running and server.log_format != "json" and sys.stderr.isatty():
            print(f"\r{stopping(running, server.shutdown_grace)}", file=sys.stderr)  # over the ^C
        self._due.clear()
        self._listener.close()
        self._tell_all(Stop(delay))
        self._ends_at = time.monotonic() + delay + server.shutdown_grace + GOODBYE + _MORE

    def _tell_all(self, message: Message) -> None:
        for worker in self._workers.values():
            try:
                worker.channel.send(message)
            except GoneError:
                os.kill(worker.pid, signal.SIGKILL)  # it hangs; one that has ended already is not buried yet

    def _kill(self) -> None:
        for worker in self._workers.values():
            log.error("worker %d has not ended in time, and is killed", worker.pid)
            os.kill(worker.pid, signal.SIGKILL)
        self._ends_at = math.inf

    def _reload(self) -> None:
        if self._ends_at is not None or self._read is None:
            return
        if self._check is not None:
            self._is_outdated = True
            return
        settings, read = self._settings, self._read
        try:
            self._check = SettingsCheck(lambda: next_check(settings, read), self._leave)
        except OSError as error:
            log.error("configuration not reloaded, keeping the old one: it cannot be checked: %s", error.strerror)  # noqa: TRY400 — as above
            return
        self._selector.register(self._check.pipe, selectors.EVENT_READ, self._check)

    def _end_check(self, check: SettingsCheck) -> None:
        if not check.read():
            return
        self._selector.unregister(check.pipe)
        self._check = None
        found = check.result()
        if isinstance(found, UsableSettings) and self._ends_at is None:
            self._before, self._settings = self._settings, found.settings
            say(found.remarks)
            for remark in multiplied(found.settings, self._table.count):
                log.warning(remark)
            configure(found.settings.server.log_format, found.settings.server.log_level, with_pid=True)
            self._waiting = set(self._workers)
            self._tell_all(Reload(found.settings))
        if self._is_outdated:
            self._is_outdated = False
            self._reload()

    def _has_reloaded(self, number: int) -> None:
        if number in self._waiting:
            self._waiting.discard(number)
            if not self._waiting:
                say_reloaded(self._before.server, self._settings.server)

    def _collect_ended(self) -> None:
        for worker in list(self._workers.values()):
            pid, status, used = os.wait4(worker.pid, os.WNOHANG)
            if pid:
                self._table.end(worker.number, used.ru_utime + used.ru_stime)
                self._end_of(worker, os.waitstatus_to_exitcode(status))

    def _end_of(self, worker: _Worker, code: int) -> None:
        """A worker has ended: with an exit code, or by a signal if that is negative."""
        number = worker.number
        del self._workers[number]
        if worker.channel.socket in self._selector.get_map():
            self._selector.unregister(worker.channel.socket)
        worker.channel.close()
        if self._ends_at is not None:
            return
        if not self._was_ready and not worker.is_ready and code > 0:
            self._exit_code = code  # it has said why
            self._stop(0)
            return
        wait = 0.0 if worker.is_ready else self._wait_after_failure(number)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        later = f" in {wait:g} s" if wait else ""
        log.log(logging.ERROR if code else logging.WARNING, "worker %d %s, and is replaced%s", worker.pid, how, later)
        self._due[number] = time.monotonic() + wait
        self._has_reloaded(number)  # the next one has the latest settings from its start on

    def _wait_after_failure(self, number: int) -> float:
        """A worker could not be started, or ended before it was ready: how long to wait before the next one."""
        failures = self._failures[number] = self._failures.get(number, 0) + 1
        return wait_after(failures)


def wait_after(failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return min(_SHORTEST * 2.0 ** min(failures - 1, 64), _LONGEST)  # far greater powers do not fit into a number
