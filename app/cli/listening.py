"""The listening socket of the server, what to do if it cannot be opened, and if few connections are possible."""

import errno
import socket
import sys
from typing import Final

from ..open_files import open_files
from ..settings import Server
from ..shared_state import connection_limits, wanted_connections

BACKLOG: Final = 2048
_SEND_BUFFER: Final = 256 * 1024


def listen(host: str, port: int, *, send_timeout: float = 60) -> socket.socket:
    """A listening socket, opened before the server is built, so that an early client waits and is not refused.

    Connections inherit its options: the system buffers little of what a client does not read, and drops a connection
    that acknowledges nothing for `send_timeout`.
    """
    infos = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = infos[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # there the option would allow two servers on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(send_timeout * 1000))
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def listen_advice(error: OSError) -> str:
    """What went wrong, and what to do about it."""
    if isinstance(error, socket.gaierror):
        return "there is no such address"
    match error.errno:
        case errno.EADDRINUSE:
            return "another program uses it; stop that one, or choose another port with --port (0 for any free one)"
        case errno.EACCES | errno.EPERM:
            return "not allowed; choose a port of 1024 or more with --port"
        case errno.EADDRNOTAVAIL:
            return "this machine does not have that address; it always has 127.0.0.1"
        case _:
            return error.strerror or "the system does not allow it"


def fewer_connections(server: Server) -> str:
    """What to say if the limit on open files permits fewer connections than the settings; empty if it does not."""
    most, files = connection_limits(server).most, open_files()
    if most >= wanted_connections(server):
        return ""
    return (
        f"this process may open {files} files, so at most {most} clients can be connected; raise the limit for more "
        "(ulimit -n, LimitNOFILE of systemd)"
    )
