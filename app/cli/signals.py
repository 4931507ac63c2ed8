"""Signals as something to wait for, together with sockets, in a process without an event loop."""

import os
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Signals:
    """The signals that came, in their order."""

    def __init__(self) -> None:
        self._reading, self._writing = socket.socketpair()
        self._reading.settimeout(0)
        self._writing.settimeout(0)

    @property
    def sockets(self) -> tuple[socket.socket, socket.socket]:
        """Both ends; the first can be read when a signal came."""
        return self._reading, self._writing

    @contextmanager
    def caught(self, numbers: Iterable[int]) -> Iterator[None]:
        """Catch these signals until the block ends."""
        before = {number: signal.signal(number, _ignore) for number in numbers}
        fd = signal.set_wakeup_fd(self._writing.fileno())
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)

    def take(self) -> list[int]:
        """The signals since the last time."""
        try:
            return list(os.read(self._reading.fileno(), 4096))
        except BlockingIOError:
            return []


def _ignore(_number: int, _frame: object) -> None:
    """Python writes the number to the socket."""
