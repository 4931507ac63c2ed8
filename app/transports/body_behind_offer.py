"""The body of a request that also offers another protocol, such as h2c.

Java's own HTTP client, and `curl --http2`, begin so with a server that they do not know. HTTP allows not to take up the
offer. httptools takes all that follows such a head for the other protocol, and uvicorn goes on without the body. So
another parser reads it here, and the connection ends after the answer.
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

    __slots__ = ("_body_parser", "_is_full")

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._is_full = False
        """Whether nothing more is read: more requests came than are queued, or another protocol was offered."""
        self._body_parser: HttpRequestParser | None = None
        """What reads the body, where another protocol was offered too."""

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
            elif self._body_parser is not None:
                BodyBehindOffer.data_received(self, data[error.args[0] :])

    def on_headers_complete(self) -> None:
        """The head is complete."""
        super().on_headers_complete()
        if self.parser.should_upgrade() and not self._should_upgrade():
            self.cycle.keep_alive = False
            if framing := [b"%s: %s\r\n" % header for header in self.headers if header[0] in _FRAMING]:
                self.parser = self._body_parser = HttpRequestParser(_BodyCallbacks(self))
                self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))

    @property
    def has_body_to_come(self) -> bool:
        """Whether a request that is complete for httptools has a body nevertheless."""
        return self._body_parser is not None and not self._is_full

    def body_complete(self) -> None:
        """The body behind an offer is complete."""
        self._is_full = True
        self.on_message_complete()


class _BodyCallbacks:
    """What the parser of such a body calls. No head is of interest: the request has had one."""

    def __init__(self, protocol: BodyBehindOffer) -> None:
        self.on_body = protocol.on_body
        self.on_message_complete = protocol.body_complete
        self._has_begun = False

    def on_message_begin(self) -> None:
        """The request whose body is read. After it, no other is."""
        if self._has_begun:
            raise ValueError
        self._has_begun = True
