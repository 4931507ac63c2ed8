"""Writes the body of a streamed response to the client's connection at once, and not as messages of ASGI.

A message passes through the coroutines of all middleware, and can only be sent by a task. uvicorn then writes it to the
connection at once, as long as the client reads.
"""

from typing import Final
from weakref import ref

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

CYCLE: Final = "am_cycle"
"""The key in a request's state under which `HttpGuard` refers to it. Other servers do not."""


class BodyWriter:
    """The body of one response, whose head must have been sent."""

    __slots__ = ("_flow", "_transport", "cycle")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self.cycle = cycle
        self._flow = cycle.flow
        self._transport = cycle.transport

    @property
    def is_ready(self) -> bool:
        """Whether the connection takes more now. If it does not, the next piece is sent as a message."""
        return not self._flow.write_paused and self.cycle.chunked_encoding is True

    def write(self, piece: bytes) -> None:
        """Writes a piece that is not empty, and not the last one."""
        if not self.cycle.disconnected:
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))


def offer(cycle: RequestResponseCycle) -> None:
    """Lets the application write the body of this response."""
    cycle.scope["state"][CYCLE] = ref(cycle)  # a strong reference would be to what holds the state


def body_writer(scope: Scope) -> BodyWriter | None:
    """The writer of this response's body; None if the server has none."""
    refer = scope["state"].get(CYCLE)
    cycle = None if refer is None else refer()
    return None if cycle is None else BodyWriter(cycle)
