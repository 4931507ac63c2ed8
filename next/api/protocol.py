"""uvicorn's HTTP protocol, with a head that is bounded in size and in time, and without an offer of HTTP/2.

Java's own client offers HTTP/2 in each first request (`Upgrade: h2c`), and httptools would lose the body behind it.
"""

import asyncio
import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST = 64 * 1024
_TIME = 10
"""Seconds for a head to arrive."""
_OFFER = re.compile(rb"\r\n(?:upgrade:[ \t]*h2c[^\r\n]*|http2-settings:[^\r\n]*)(?=\r\n)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[ \t]*[^\r\n]*upgrade[^\r\n]*(?=\r\n)", re.IGNORECASE)
_REFUSAL = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"


class Protocol(HttpToolsProtocol):
    """A connection of a client."""

    head: bytes = b""
    """What has arrived of the next head."""
    timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Holds back a head until it is whole; a body goes on as it comes."""
        if self.cycle is not None and self.cycle.more_body:  # type: ignore[redundant-expr] # it is None before the first
            return super().data_received(data)
        self.head = (self.head + data).lstrip(b"\r\n")  # some clients send an empty line behind a body
        end = self.head.find(b"\r\n\r\n")
        if end > _MOST or (end < 0 and len(self.head) > _MOST):
            return self.refuse(b"431 Request Header Fields Too Large", b"headers_too_large", b"The head is too long.")
        if end < 0:
            if self.head and self.timer is None:
                self.timer = self.loop.call_later(_TIME, self.too_slow)
            return None
        self.stop_timer()
        head, rest, self.head = self.head[: end + 2], self.head[end + 2 :], b""
        if _OFFER.search(head):
            head = _CONNECTION.sub(b"", _OFFER.sub(b"", head))
        return super().data_received(head + rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self.stop_timer()
        super().connection_lost(exc)

    def stop_timer(self) -> None:
        """The head is whole, or nobody waits for it."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def too_slow(self) -> None:
        """The head did not arrive in time."""
        self.refuse(b"408 Request Timeout", b"request_timeout", b"The head did not arrive in time.")

    def refuse(self, status: bytes, code: bytes, message: bytes) -> None:
        """Answers without the application, and hangs up."""
        self.stop_timer()
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr] # as above
            return self.transport.close()  # the head of a next request, within an answer
        told = b'{"error":{"message":"%b","type":"invalid_request_error","param":"","code":"%b"}}' % (message, code)
        if not self.transport.is_closing():
            self.transport.write(_REFUSAL % (status, len(told), told))
            self.transport.close()
        return None
