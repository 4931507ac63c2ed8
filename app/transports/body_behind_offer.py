"""The body of a request that also offers another protocol, such as h2c.

Java's own HTTP client, and `curl --http2`, begin so with a server that they do not know. HTTP allows not to take up the
offer. httptools takes all that follows such a head for the other protocol, and uvicorn goes on without the body. So
another parser reads on from there: the body, and the requests that follow.
"""

import asyncio
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class BodyBehindOffer(HttpToolsProtocol):
    """uvicorn's protocol, which reads such a body."""

    __slots__ = ("_head_again",)

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_again = b""
        """What the other parser needs to know of the head: how long the body is."""

    @property
    def has_body_to_come(self) -> bool:
        """Whether the request that is complete for httptools has a body nevertheless."""
        return bool(self._head_again)

    def data_received(self, data: bytes) -> None:
        """Parses received bytes, as uvicorn does."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except HttpParserError:
            self.send_400_response("")
        except HttpParserUpgrade as error:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            elif self._head_again:
                rest = self._head_again + data[error.args[0] :]
                self._head_again = b""
                self.parser = HttpRequestParser(_Callbacks(self))
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                BodyBehindOffer.data_received(self, rest)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        super().on_headers_complete()
        if not self.parser.should_upgrade() or self._should_upgrade():
            return
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in _FRAMING]
        if framing:
            self._head_again = b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing)
        else:
            self.cycle.keep_alive = False  # what follows is not read


class _Callbacks:
    """What the other parser calls: the protocol itself, except for the head that it was given again."""

    def __init__(self, protocol: BodyBehindOffer) -> None:
        self.on_body = protocol.on_body
        self._protocol = protocol
        self._is_first = True
        """Whether it reads the request that offers another protocol."""

    def on_message_begin(self) -> None:
        """A request begins."""
        if not self._is_first:
            self._protocol.on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Its path."""
        if not self._is_first:
            self._protocol.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers, or a trailer."""
        if not self._is_first:
            self._protocol.on_header(name, value)

    def on_headers_complete(self) -> None:
        """Its head is complete."""
        if not self._is_first:
            self._protocol.on_headers_complete()

    def on_message_complete(self) -> None:
        """It is complete."""
        self._is_first = False
        self._protocol.on_message_complete()
