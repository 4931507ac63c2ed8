"""The first to hear a client: what is no request, comes too slowly or brings too long a head goes no further.

Theory of operation
-------------------
uvicorn's own protocol reads with httptools, which refuses what is ambiguous: two lengths, a length beside chunks, line
ends of one character, white space around names. It bounds neither the size of a head nor the time one takes, answers
in plain text, and takes trailers for headers. Here every refusal has OpenAI's shape, and one clock per connection
strikes for whatever is awaited of the client:

    nothing said yet         IDLE               closed without a word
    a head is arriving       header_timeout     408
    a body nobody reads      LINGER             closed; the answer has been sent, and was to be read first
    anything else            —                  bodies have a clock of their own

When the server stops, a connection that has brought no request yet, or a part of one, is read for `LATE` seconds more.

An answer that the client does not read waits, and its upstream with it. After `send_timeout` without any progress the
connection is cut rather than closed: closing would wait for what nobody reads. Nothing is ever written into an answer
that has begun: then the connection ends instead.

A client may send requests before it has the answers to earlier ones. They are queued, `MOST_QUEUED` at most, and while
any is queued nothing more is read from the connection. One read may bring more requests than that: they are thrown
away, and the connection ends behind the answer to the last that is queued, which says so.

From an upgrade on the connection is the websocket's, and no clock is kept here. So only what is an offer of a websocket
gets that far: uvicorn would answer anything else in plain text, or wait for more of it for ever.
"""

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.protocol.ids import Mint
from app.protocol.problems import Problem
from app.transports.websocket_guard import is_offer

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

log = logging.getLogger("am_proxy")

IDLE: Final = 75
"""Seconds that a connection may say nothing: longer than the 60 after which common load balancers close theirs."""
MOST_QUEUED: Final = 16
"""Requests of one connection that wait for the answers to those before them."""
LINGER: Final = 10
"""Seconds for which the rest of a refused body is read and thrown away. Closed at once, the client would often see a
broken connection instead of the reason."""
LATE: Final = 1
"""Seconds in which a request that is on its way when the server stops must have arrived."""

_BAD: Final = Problem(code="invalid_http", message="This is not a request in HTTP/1.1.")
_NO_OFFER: Final = Problem(code="invalid_http", message="This is not an offer of a websocket, version 13.")
_ENCODED: Final = Problem(
    code="invalid_http", message="The only Transfer-Encoding that this server decodes is `chunked`, in HTTP/1.1."
)
_NO_HOST: Final = Problem(code="invalid_http", message="A request needs one Host header, and no more than one.")


class _RefusedError(Exception):
    """Ends the parsing of a head; the reason stands in `HttpGuard._refusal`."""


class _ReadingControl(FlowControl):
    """Pauses and resumes the reading of a connection. It is not resumed while requests are queued."""

    def __init__(self, transport: asyncio.Transport, queued: Collection[object]) -> None:
        super().__init__(transport)
        self._queued = queued

    def resume_reading(self) -> None:
        """Read on, if nothing is queued."""
        if not self._queued:
            super().resume_reading()


class HttpGuard(HttpToolsProtocol):
    """One connection. To be given to uvicorn as `http`, with the last four arguments filled in."""

    __slots__ = (  # uvicorn's own attributes nearly fill what Python keeps small; one more costs 1.2 kB a connection
        "_clock",
        "_header_timeout",
        "_heard",
        "_in_body",
        "_in_head",
        "_is_full",
        "_is_last",
        "_max_header_bytes",
        "_mint",
        "_refusal",
        "_running",
        "_send_timeout",
        "_stuck",
    )

    def __init__(  # noqa: PLR0913 — uvicorn's four, and ours
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        max_header_bytes: int,
        header_timeout: float,
        send_timeout: float,
        mint: Mint,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._max_header_bytes = max_header_bytes
        self._header_timeout = header_timeout
        self._send_timeout = send_timeout
        self._mint = mint
        self._stuck: asyncio.TimerHandle | None = None
        self._heard = 0
        """Bytes of the head that is arriving; none while a body is."""
        self._in_head = True
        self._in_body = False
        self._is_full = False
        """Whether more requests came than are queued: nothing more is read."""
        self._is_last = False
        """Whether the connection is closed behind the next answer."""
        self._running: RequestResponseCycle | None = None
        """What is being answered; `cycle` is the latest request, which may be queued."""
        self._refusal = _BAD
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own does
        """Somebody is there, and may say nothing for a while."""
        super().connection_made(transport)
        self.flow = _ReadingControl(transport, self.pipeline)
        self._wind(IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self._stop()
        self._unstick()
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """They read more slowly than they are told. If they read nothing for long, nobody is there."""
        super().pause_writing()
        self._unstick()
        self._stuck = self.loop.call_later(self._send_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """They have read on."""
        self._unstick()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Some bytes. A head that is too long is refused before it has ended."""
        if self._is_full or self.transport.is_closing():
            return
        self._heard = self._heard + len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._heard and self._clock is None:
            self._wind(self._header_timeout)  # a line end before a request stops uvicorn's clock, and begins nothing
        if self._heard > self._max_header_bytes and self._in_head and not self.transport.is_closing():
            self._refuse(self._too_long())

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if len(self.pipeline) >= MOST_QUEUED:
            self._is_full = True
            raise _RefusedError
        super().on_message_begin()
        self._heard = max(self._heard, 1)
        self._wind(self._header_timeout)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer, which is thrown away: what decides must not come behind the body."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The whole head."""
        self._in_head, self._in_body = False, True
        self._stop()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._max_header_bytes:
            self._stop_parsing(self._too_long())
        hosts, version = sum(name == b"host" for name, _ in self.headers), self.parser.get_http_version()
        if hosts > 1 or (not hosts and version == "1.1"):
            self._stop_parsing(_NO_HOST)
        if version not in {"1.0", "1.1"}:
            self._stop_parsing(_BAD)
        encodings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        if encodings and (encodings != [b"chunked"] or version != "1.1"):
            self._stop_parsing(_ENCODED)  # the parser reads chunks whatever stands before that word
        super().on_headers_complete()
        in_another_language = self.parser.should_upgrade() and not self._should_upgrade()
        if in_another_language or self._is_last:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """The whole request. The next byte is of another one."""
        self._in_head, self._in_body, self._heard = True, False, 0
        self._stop()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The whole answer, though perhaps not yet the whole request."""
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._wind(LINGER)

    def shutdown(self) -> None:
        """The server stops. Between two requests a connection is closed at once, as any server may do at any time."""
        if self._answering is None and (self._running is None or self._heard):
            self._is_last, self._header_timeout = True, LATE
            self._wind(LATE)
        else:
            super().shutdown()

    def handle_websocket_upgrade(self) -> None:
        """An offer of a websocket; refused behind a request that is still being answered."""
        head = [f"{self.scope['method']} ".encode(), self.url, b" HTTP/1.1\r\n"]
        head += [piece for name, value in self.headers for piece in (name, b": ", value, b"\r\n")]
        if self._answering is not None or not is_offer(b"".join([*head, b"\r\n"])):
            self._refuse(_NO_OFFER)
        else:
            super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 — uvicorn's signature; its words are plain text
        """For what uvicorn's own code cannot parse, and for what came behind a full queue."""
        if self._is_full:
            self.cycle.keep_alive = False
        else:
            self._refuse(self._refusal)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def _answering(self) -> RequestResponseCycle | None:
        latest: RequestResponseCycle | None = self.cycle  # whatever uvicorn says: before the first request it is none
        return None if latest is None or latest.response_complete else latest

    def _too_long(self) -> Problem:
        words = f"The headers are longer than the {self._max_header_bytes} bytes this server reads."
        return Problem(code="headers_too_large", message=words)

    def _stop_parsing(self, problem: Problem) -> None:
        self._refusal = problem
        raise _RefusedError

    def _refuse(self, problem: Problem) -> None:
        """Answer and close. Where an answer has begun, or an earlier one is awaited, close alone."""
        self._stop()
        cycle = self._answering
        if cycle is None or (self._in_body and not cycle.response_started and not self.pipeline):
            request_id = self._mint("req")
            body = msgspec.json.encode(problem.body())
            self.transport.write(
                STATUS_LINE[problem.shape.status]
                + b"content-type: application/json\r\nconnection: close\r\nopenai-processing-ms: 0\r\n"
                + b"x-request-id: %s\r\ncontent-length: %d\r\n\r\n" % (request_id.encode(), len(body))
                + body
            )
            fields = {"request_id": request_id, "status": problem.shape.status, "error": problem.code}
            log.info("refused at the door", extra={"fields": fields})
        self.transport.close()

    def _unstick(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _wind(self, seconds: float) -> None:
        self._stop()
        self._clock = self.loop.call_later(seconds, self._strike)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _strike(self) -> None:
        """Time is up. A head that is late behind an answer which is still being given may be late for longer."""
        if self.transport.is_closing():
            return
        if self._answering is not None:
            self._wind(self._header_timeout)
        elif self._in_body or not self._heard:
            self.transport.close()
        else:
            words = f"The headers took longer than {self._header_timeout:g} seconds."
            self._refuse(Problem(code="request_timeout", message=words))
