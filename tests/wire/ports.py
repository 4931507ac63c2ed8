"""Ports for servers of tests: the same ones again and again, so that equal configurations stay equal."""

import random
import socket
from typing import Final

_FIRST: Final = 10_000
_LAST: Final = 32_000
"""Below the ports that the system gives to clients."""
_free: list[int] = []


def listening() -> socket.socket:
    """A socket on a port that no server of this process uses; it is used again after `give_back`."""
    while True:
        port = _free.pop() if _free else random.randrange(_FIRST, _LAST)
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            continue


def give_back(port: int) -> None:
    """The server on this port has ended."""
    _free.append(port)
