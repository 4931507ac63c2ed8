"""What the system knows of a connection: whether anything is to be read, and what the other side has acknowledged."""

import select
import socket
import struct
import sys
from typing import Any, Final

_HAS_POLL: Final = hasattr(select, "poll")
"""Whether the system has `poll`. Windows has not."""
_TCP_INFO: Final = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_ACKNOWLEDGED: Final = 120
"""Offset of the count of acknowledged bytes in Linux's `struct tcp_info`."""


def is_quiet(transport: Any) -> bool:
    """Whether this open connection has nothing to read: no byte, and not its end."""
    try:
        descriptor = transport.get_extra_info("socket").fileno()
        if _HAS_POLL:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return not poll.poll(0)
        return not select.select([descriptor], [], [], 0)[0]  # pragma: no cover — Windows
    except (OSError, ValueError, AttributeError):
        return False


def acknowledged(transport: Any) -> int | None:
    """How many of the written bytes the other side has acknowledged, if the system reports it."""
    held = None if transport is None else transport.get_extra_info("socket")
    if held is None or _TCP_INFO is None:
        return None
    try:
        info = held.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _ACKNOWLEDGED + 8)
        return int(struct.unpack_from("Q", info, _ACKNOWLEDGED)[0])
    except (OSError, ValueError, struct.error):
        return None
