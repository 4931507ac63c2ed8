"""uvicorn's HTTP/1.1 protocol with limits: bad requests, slow ones and long heads are refused here.

Theory of operation
-------------------
uvicorn's own protocol reads with httptools, which refuses what is ambiguous: two lengths, a length with chunks, line
ends of one character, white space around names. It limits neither the size of a head nor the time one takes, answers
in plain text, and treats trailers as headers. Here every refusal has OpenAI's form, and one clock per connection limits
the time of whatever the client must send next:

    nothing received yet     IDLE               closed without a response
    a head is arriving       header_timeout     408
    the rest of a body       LINGER             closed; it was refused, and the client had time to read the answer
    anything else            —                  bodies have a clock of their own

What comes between the pieces of a body, or behind it, may be as long as a head.

A connection for which there is no room is answered at once, and what the client sends is discarded
(`open_connections.py`). When the server stops, a connection without a request, or with a part of one, is read for
`LATE` seconds more.

An answer that the client does not read waits, and its upstream with it. After `send_timeout` without any progress the
connection is aborted rather than closed: closing would wait until all is read. Nothing is written into an answer that
has begun: the connection ends instead.

A client may send requests before it has the answers to earlier ones. They are queued, `MOST_QUEUED` at most, and while
any is queued nothing more is read from the connection. One read may bring more requests than that: they are discarded,
and the connection ends after the answer to the last queued one, which says so.

After an upgrade the connection is the websocket's, and no clock runs here. Only a valid offer of a websocket gets that
far: uvicorn would answer anything else in plain text, or wait for more without end.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from ..protocol.ids import NewId
from ..protocol.problems import Problem
from .auth import PLACE
from .body_behind_offer import BodyBehindOffer
from .body_writer import offer
from .http_refusals import BAD, NO_OFFER, fault_of, no_room, raw_refusal, too_long, too_slow
from .leaving import client_left
from .open_connections import ConnectionPlace, OpenConnections
from .reading_control import MessageEvent, ReadingControl, ShortQueue
from .websocket_options import is_offer, is_websocket

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

log = logging.getLogger("am_proxy")

IDLE: Final = 75
"""Seconds that a connection may send nothing: longer than the 60 after which common load balancers close theirs."""
MOST_QUEUED: Final = 16
"""Requests of one connection that wait for the answers to those before them."""
LINGER: Final = 10
"""Seconds for which the rest of a refused body is read and discarded. Closed at once, the client would often see a
broken connection instead of the reason."""
LATE: Final = 1
"""Seconds for a request that is on its way when the server stops, and for a client to read why it was refused."""


class _RefusedError(Exception):
    """Ends the parsing of a head; `HttpGuard._refusal` is the reason."""


class HttpGuard(BodyBehindOffer):
    """One connection. uvicorn gets this class as `http`, with the last four arguments bound."""

    __slots__ = (  # uvicorn's own attributes nearly fill what Python keeps small; one more costs 1.2 kB a connection
        *("_bodiless", "_clock", "_head_bytes", "_header_timeout", "_in_body", "_in_head"),
        *("_is_full", "_is_last", "_max_header_bytes", "_new_id", "_open_connections"),
        *("_place", "_refusal", "_running", "_send_clock", "_send_timeout"),
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
        new_id: NewId,
        connections: OpenConnections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._max_header_bytes = max_header_bytes
        self._header_timeout = header_timeout
        self._send_timeout = send_timeout
        self._new_id = new_id
        self._open_connections = connections
        self.pipeline: Any = ShortQueue()
        self._place: ConnectionPlace | None = None
        """None where the connection was refused, or has become a websocket."""
        self._send_clock: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        """Bytes of the head that is arriving; 0 while a body is."""
        self._bodiless = 0
        """Bytes that came since the last of a body: chunk sizes, and trailers, which the parser keeps to their end."""
        self._in_head = True
        self._in_body = False
        self._is_full = False
        """Whether more requests came than are queued: nothing more is read."""
        self._is_last = False
        """Whether the connection is closed after the next answer."""
        self._running: RequestResponseCycle | None = None
        """The request that is being answered; `cycle` is the latest one, which may be queued."""
        self._refusal = BAD
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own does
        """A client has connected; it may send nothing for a while."""
        super().connection_made(transport)
        self.flow = ReadingControl(transport, self.pipeline)
        place = self._open_connections.enter(self.client[0] if self.client else "", transport)
        if isinstance(place, str):
            self._turn_away(place)
        else:
            self._place = place
            self._start_clock(IDLE)

    def _turn_away(self, message: str) -> None:
        """There is no room. What the client sends is not parsed, but read: otherwise it may not get the answer."""
        self._is_full = True
        self.transport.write(raw_refusal(no_room(message), self._new_id("req")))
        self.transport.write_eof()
        self._start_clock(LATE)
        self._open_connections.linger(self, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        if self._place is not None:
            self._place.leave()
        else:
            self._open_connections.lingers_no_more(self)
        self._stop_clock()
        self._stop_send_clock()
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            client_left(self._running)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads too slowly. If it reads nothing for `send_timeout`, the connection is aborted."""
        super().pause_writing()
        self._stop_send_clock()
        self._send_clock = self.loop.call_later(self._send_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stop_send_clock()
        super().resume_writing()
        if self._place is not None:
            self._place.sent()

    def data_received(self, data: bytes) -> None:
        """Parses received bytes. A head that is too long is refused before its end."""
        if self._is_full or self.transport.is_closing():
            return
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        self._bodiless += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes and self._clock is None:
            self._start_clock(self._header_timeout)  # a line end before a request stops uvicorn's clock
        size = self._head_bytes if self._in_head else self._bodiless
        if size > self._max_header_bytes and not self.transport.is_closing():
            self._refuse(too_long(self._max_header_bytes))

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if len(self.pipeline) >= MOST_QUEUED:
            self._is_full = True
            raise _RefusedError
        super().on_message_begin()
        self.scope["state"][PLACE] = self._place
        self._head_bytes = max(self._head_bytes, 1)
        self._start_clock(self._header_timeout)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer, which is discarded: no header may follow the body."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head, self._in_body, self._bodiless = False, True, 0
        self._stop_clock()
        if self._place is not None:
            self._place.work()
        fault = fault_of(self.url, self.headers, self.parser.get_http_version(), self._max_header_bytes)
        if fault is not None:
            self._refusal = fault
            raise _RefusedError
        super().on_headers_complete()
        if self._is_last:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._bodiless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete. The next byte belongs to another one."""
        if self.has_body_to_come:
            return
        self._in_head, self._in_body, self._head_bytes = True, False, 0
        self._stop_clock()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is complete, though perhaps not yet the request."""
        if self._place is not None and not self.pipeline:
            self._place.rest()
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._start_clock(LINGER)

    def shutdown(self) -> None:
        """The server stops. Between two requests a connection is closed at once, which HTTP allows at any time."""
        if self._answering is None and (self._running is None or self._head_bytes):
            self._is_last, self._header_timeout = True, LATE
            self._start_clock(LATE)
        else:
            super().shutdown()

    def handle_websocket_upgrade(self) -> None:
        """An offer of a websocket; refused while an earlier request is being answered."""
        head = [f"{self.scope['method']} ".encode(), self.url, b" HTTP/1.1\r\n"]
        head += [piece for name, value in self.headers for piece in (name, b": ", value, b"\r\n")]
        if self._answering is not None or not is_offer(b"".join([*head, b"\r\n"])):
            self._refuse(NO_OFFER)
        else:
            super().handle_websocket_upgrade()
            protocol: Any = self.transport.get_protocol()
            if is_websocket(protocol):
                protocol.place, self._place = self._place, None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 — uvicorn's signature; its message is plain text
        """Refuses what uvicorn's own code cannot parse, and requests beyond a full queue."""
        if self._is_full:
            self.cycle.keep_alive = False
        else:
            self._refuse(self._refusal)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        self._running = cycle
        event: Any = MessageEvent(is_set=cycle.message_event.is_set())
        cycle.message_event = event
        offer(cycle)
        super()._start_asgi_task(cycle, app)

    @property
    def _answering(self) -> RequestResponseCycle | None:
        latest: RequestResponseCycle | None = self.cycle  # despite uvicorn's annotation, None before the first request
        return None if latest is None or latest.response_complete else latest

    def _refuse(self, problem: Problem) -> None:
        """Answer and close. Where an answer has begun, or an earlier one is due first, only close."""
        self._stop_clock()
        cycle = self._answering
        if cycle is None or (self._in_body and not cycle.response_started and not self.pipeline):
            request_id = self._new_id("req")
            self.transport.write(raw_refusal(problem, request_id))
            fields = {"request_id": request_id, "status": problem.shape.status, "error": problem.code}
            log.info("request refused", extra={"fields": fields})
        self.transport.close()

    def _stop_send_clock(self) -> None:
        if self._send_clock is not None:
            self._send_clock.cancel()
            self._send_clock = None

    def _start_clock(self, seconds: float) -> None:
        self._stop_clock()
        self._clock = self.loop.call_later(seconds, self._time_out)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _time_out(self) -> None:
        """Time is up. A head may take longer while an earlier request is being answered."""
        if self.transport.is_closing():
            return
        if self._answering is not None:
            self._start_clock(self._header_timeout)
        elif self._in_body or not self._head_bytes:
            self.transport.close()
        else:
            self._refuse(too_slow(self._header_timeout))
