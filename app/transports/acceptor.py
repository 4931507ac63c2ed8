"""Accepts connections, a few at a time, and goes on when the process may open no more files.

The servers of asyncio and uvloop do not: asyncio's of Python 3.11 tries two thousand times and then again all the time,
and uvloop's may close its socket without a word, after which nobody can connect.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import Final

from .open_connections import OpenConnections

log = logging.getLogger("am_proxy")

AT_ONCE: Final = 32
"""Connections that are accepted before other work has its turn."""
PAUSE: Final = 0.1
"""Seconds without accepting, if there are no more files."""
CLOSED_AT_ONCE: Final = 8
"""Connections that are closed when that happens, so that there are files again."""
NOTE_PAUSE: Final = 60
"""Seconds between two lines about it in the log."""
_GONE: Final = frozenset({errno.ECONNABORTED, errno.EPROTO, errno.EINTR})
"""Errors of one connection that ended before it was accepted."""


class Acceptor:
    """Takes the connections of one listening socket. uvicorn knows it as one of its servers."""

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        connections: OpenConnections,
        *,
        backlog: int,
        leaves: Callable[[int], float] = lambda _: 0,
    ) -> None:
        """Begins to accept.

        `leaves` says for how many seconds to leave new connections to other processes; it gets the number of those that
        were accepted and are not open yet.
        """
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._make_protocol = make_protocol
        self._connections = connections
        self._backlog = backlog
        self._leaves = leaves
        self._opening: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None
        self._noted: float | None = None
        self._is_closed = False
        listener.settimeout(0)
        self._resume()

    def close(self) -> None:
        """Accepts who waits already, and then no more: those in the system's queue would be reset."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        else:
            self._loop.remove_reader(self._listener)
        self._accept(self._backlog)
        self._listener.close()

    async def wait_closed(self) -> None:
        """Returns when what was accepted has become connections."""
        if self._opening:
            await asyncio.wait(set(self._opening))

    def _resume(self) -> None:
        self._retry = None
        self._loop.add_reader(self._listener, self._accept, AT_ONCE)

    def _accept(self, most: int) -> None:
        for _ in range(most):
            if not self._is_closed and (pause := self._leaves(len(self._opening))):
                self._wait(pause)
                return
            try:
                accepted, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _GONE:
                    continue
                self._pause(error)
                return
            accepted.settimeout(0)
            task = self._loop.create_task(self._open(accepted))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, accepted)
        except OSError:
            accepted.close()
            log.debug("a connection ended before it began", exc_info=True)

    def _wait(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._retry = self._loop.call_later(seconds, self._resume)

    def _pause(self, error: OSError) -> None:
        """Stops accepting for a moment, and makes room. Clients wait meanwhile in the system's queue."""
        if self._is_closed:
            return
        self._wait(PAUSE)
        if error.errno in {errno.EMFILE, errno.ENFILE}:
            for _ in range(CLOSED_AT_ONCE):
                self._connections.make_room()
        now = self._loop.time()
        if self._noted is None or now >= self._noted + NOTE_PAUSE:
            self._noted = now
            log.warning("cannot accept connections, and tries again: %s", error.strerror or error)
