"""uvicorn's HTTP protocol, with bounds for what is no body (heads, trailers), and without an offer of HTTP/2.

Java's own client offers HTTP/2 in each first request (`Upgrade: h2c`), and httptools would lose the body behind it.
"""

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from websockets.http11 import Request
from websockets.server import ServerProtocol

from ..types.json import encode
from ..types.problems import Problem
from ..types.response import new_id

_MOST = 64 * 1024
_MOST_LATE = 32 * 1024 * 1024
"""Behind an answer: who still sends reads none."""
_TIME = 10
"""Seconds for a head to arrive."""
_OFFER = re.compile(rb"\r\n(?:upgrade:[ \t]*h2c[^\r\n]*|http2-settings:[^\r\n]*)(?=\r\n)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[ \t]*[^\r\n]*upgrade[^\r\n]*(?=\r\n)", re.IGNORECASE)
_SOCKET = re.compile(rb"\r\nupgrade:[ \t]*websocket[ \t]*\r\n", re.IGNORECASE)
_REFUSAL = (
    b"content-type: application/json\r\nconnection: close\r\nopenai-processing-ms: 0\r\n"
    b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n"
)


class Protocol(HttpToolsProtocol):
    """A connection of a client."""

    head: bytes = b""
    """What has arrived of the next head."""
    bare: int = 0
    """Bytes in a row that add nothing to a body: trailers, extensions of chunks, all that is behind an answer."""
    timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Holds back a head until it is whole; a body goes on as it comes."""
        cycle = self.cycle
        if cycle is not None and cycle.more_body:  # type: ignore[redundant-expr] # it is None before the first
            return self.body_received(data)
        self.head = self.head + data if self.head else data.lstrip(b"\r\n")  # some send an empty line behind a body
        end = self.head.find(b"\r\n\r\n")
        if end > _MOST or (end < 0 and len(self.head) > _MOST):
            return self.refuse("headers_too_large", f"The headers are longer than the {_MOST} bytes this server reads.")
        if end < 0:
            if self.head and self.timer is None:
                late = f"The headers took longer than {_TIME} seconds."
                self.timer = self.loop.call_later(_TIME, self.refuse, "request_timeout", late)
            return None
        self.stop_timer()
        self.bare = 0
        head, rest, self.head = self.head[: end + 2], self.head[end + 2 :], b""
        if _SOCKET.search(head) and _CONNECTION.search(head) and not _is_offer(head):
            return self.refuse("invalid_http", "This is not an offer of a websocket, version 13.")
        if _OFFER.search(head):
            head = _CONNECTION.sub(b"", _OFFER.sub(b"", head))
        return super().data_received(head + rest)

    def body_received(self, data: bytes) -> None:
        """A piece of a body. uvicorn keeps all its trailers, and does not say where one ends that nobody reads."""
        cycle, had = self.cycle, len(self.cycle.body)
        if cycle.response_complete and self.timer is None:
            self.timer = self.loop.call_later(_TIME, self.transport.close)
        super().data_received(data)
        if self.cycle is not cycle:  # a next request has begun
            return self.stop_timer()
        self.bare = 0 if len(cycle.body) > had else self.bare + len(data)
        most = _MOST_LATE if cycle.response_complete else _MOST
        return self.transport.close() if self.bare > most and cycle.more_body else None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self.stop_timer()
        super().connection_lost(exc)

    def stop_timer(self) -> None:
        """The head is whole, or nobody waits for it."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def refuse(self, code: str, message: str) -> None:
        """Answers without the application, and hangs up."""
        self.stop_timer()
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr] # as above
            return self.transport.close()  # the head of a next request, within an answer
        problem = Problem(code, message)
        told = encode(problem.body())
        if not self.transport.is_closing():
            self.transport.write(STATUS_LINE[problem.status] + _REFUSAL % (new_id("req").encode(), len(told)) + told)
            self.transport.close()
        return None


def _is_offer(head: bytes) -> bool:
    """Whether the library would open this websocket: it refuses in plain text."""
    handshake = ServerProtocol()
    handshake.receive_data(head + b"\r\n")
    offers = [event for event in handshake.events_received() if isinstance(event, Request)]
    return bool(offers) and handshake.accept(offers[0]).status_code == 101
