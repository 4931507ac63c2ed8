"""Messages between a supervisor and one of its processes, over a pair of sockets. Its end says that the other is gone.

Both ends run the same program of the same user, and nobody else can reach the sockets: so messages are pickled, and may
hold the keys in the settings.
"""

import pickle
import socket
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final, NamedTuple

from ..settings import Secret, Settings

WAIT: Final = 5.0
"""Seconds within which the other end must take a message."""
_PIECE: Final = 65_536
_LENGTH: Final = struct.Struct("!I")


class Ready(NamedTuple):
    """A worker serves. `listed` are models that only its upstream names, for the banner."""

    listed: tuple[str, ...] = ()


class Reload(NamedTuple):
    """A worker shall serve with these settings, which were checked."""

    settings: Settings


class Reloaded(NamedTuple):
    """A worker does so."""


class Stop(NamedTuple):
    """A worker shall end: after `delay` seconds it accepts no more connections."""

    delay: float
    at_once: bool = False


Message = Ready | Reload | Reloaded | Stop


class GoneError(Exception):
    """The other end does not take messages any more."""


class ControlChannel:
    """One end."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._received = b""

    def send(self, message: Message) -> None:
        """Send a message. Raises `GoneError` if the other end does not take it in time."""
        data = pickled(message)
        self.socket.settimeout(WAIT)
        try:
            self.socket.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise GoneError from error

    def receive(self) -> list[Message] | None:
        """The messages that are complete by now; None when the other end is closed. Does not wait."""
        self.socket.settimeout(0)
        try:
            data = self.socket.recv(_PIECE)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            return None
        self._received += data
        return list(self._complete())

    def _complete(self) -> Iterator[Message]:
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            data, self._received = self._received[_LENGTH.size : end], self._received[end:]
            yield pickle.loads(data)  # noqa: S301 — it comes from this program itself

    def close(self) -> None:
        """Close this end."""
        self.socket.close()


def pair() -> tuple[ControlChannel, ControlChannel]:
    """Both ends."""
    one, other = socket.socketpair()
    return ControlChannel(one), ControlChannel(other)


def pickled(value: Any) -> bytes:
    """The value as bytes, with its secrets."""
    buffer = BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """Secrets refuse to be pickled, so that none gets into a file by mistake. This is none."""

    def reducer_override(self, value: Any) -> Any:
        """Pickle a secret as its text."""
        return (Secret, (value.reveal(),)) if isinstance(value, Secret) else NotImplemented
