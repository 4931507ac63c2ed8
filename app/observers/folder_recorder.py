"""Records turns in folders: what the client sent, what upstreams were asked and sent back, and what the client got.

All of a turn is kept in memory until it ends, within limits, and then written. What is beyond the limits is left out,
and the recording says so. `app/recordings` has the format.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from ..emitter.encoded_size import LONG, size_of
from ..json_text import json_bytes, json_value
from ..protocol.events import Event, Relayed
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..recordings.recording import MOST_ASKS, About, ClientEvent, Exchange, Recording
from ..upstreams.taps import Shape, follow
from ..version import VERSION
from .arrivals import Arrivals, arrivals_of
from .in_order import Backlog, InOrder

AT_ONCE: Final = 4
"""As many recordings of the longest size are held in memory at the same time; of one caller, half as many."""
EACH: Final = 128
"""Bytes counted for every event and piece in addition to its text."""
TOO_LONG: Final = "It is longer than record_turn_bytes: {} is missing."
TOO_MUCH: Final = "Too much waited to be written: {} is missing."
OUTCOME: Final = (
    *("finish", "status", "error", "reason", "cause", "duration_ms", "first_token_ms", "warnings", "usage"),
)
"""The fields of the log line that are kept."""

_encode: Final = msgspec.json.Encoder().encode


class Writer(Protocol):
    """What writes recordings, as `RecordingWriter` does."""

    def write(self, owner: str, key: str, make: Callable[[], Recording], at_end: Callable[[], None]) -> None:
        """Writes what `make` returns, and then calls `at_end`."""
        ...

    def say_once(self, what: str, message: str, *arguments: object) -> None:
        """Logs a warning, unless one of this kind was logged before."""
        ...

    async def close(self) -> None:
        """Writes what still waits."""
        ...


class FolderRecorder:
    """The observer that records. `settings_for` returns the settings that matter for a model."""

    def __init__(
        self,
        writer: Writer,
        settings_for: Callable[[str], dict[str, Any]],
        most_bytes_of_one: int,
    ) -> None:
        self.writer = writer
        self.settings_for = settings_for
        self.most_bytes = most_bytes_of_one
        self.held = Backlog(AT_ONCE * most_bytes_of_one, AT_ONCE * most_bytes_of_one // 2)
        """Bytes in memory."""
        self.encoding = Backlog()

    def began(self, fields: Mapping[str, Any]) -> "RecordedTurn":
        """One more turn."""
        return RecordedTurn(self, fields)

    async def close(self) -> None:
        """Writes what still waits."""
        await self.encoding.close()
        await self.writer.close()


class RecordedTurn:
    """What one turn has sent and received so far."""

    def __init__(self, recorder: FolderRecorder, fields: Mapping[str, Any]) -> None:
        self._recorder = recorder
        self._fields = fields
        self._in_order = InOrder(recorder.encoding, fields)
        self._start = time.perf_counter()
        self._about: dict[str, Any] = {}
        self._request: bytes | None = None
        self._exchanges: list[_RecordedExchange] = []
        self._events: list[tuple[float, bytes, bool]] = []
        """Time, JSON, and whether it is the problem of a refused request."""
        self._left_out: dict[str, None] = {}
        self._owner: str | None = None
        self._held = 0

    @property
    def at(self) -> float:
        """Milliseconds since the turn began."""
        return round((time.perf_counter() - self._start) * 1000, 2)

    def requested(self, request: CreateResponse, *, for_codex: bool, sees_causes: bool) -> None:
        """The client's request. Without it, nothing is recorded."""
        self._about = {
            "model": request.model,
            "for_codex": for_codex,
            "sees_causes": sees_causes,
            "summary_only": request.summary_only,
            "previous_response_id": request.previous_response_id,
        }
        self.keep(request.size, partial(json_bytes, request.raw), self._keep_request, "the request")

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:  # noqa: ARG002 — the body that is posted is recorded
        """From now on this upstream is asked in this task."""
        follow(_Ask(self, upstream, 2 * request.size))

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:  # noqa: ARG002 — as above
        """From now on it is asked to go on."""
        follow(_Ask(self, upstream, size))

    def requested_of(self, upstream: str, body: Any, size: int) -> "_RecordedExchange":
        """A request to this upstream."""
        if len(self._exchanges) >= MOST_ASKS:
            self.leave_out(f"There were more than {MOST_ASKS} asks.")
            return _RecordedExchange(self, upstream, is_kept=False)
        exchange = _RecordedExchange(self, upstream)
        self._exchanges.append(exchange)
        if isinstance(body, bytes):
            self.keep(len(body), lambda: body, exchange.keep_ask, "an ask")
        else:
            self.keep(size, partial(json_bytes, body), exchange.keep_ask, "an ask")
        return exchange

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Nothing: what it failed by is recorded as it came."""

    def sent(self, events: list[Event]) -> None:
        """The events that are sent."""
        at = self.at
        for event in events:
            raw = event.data if isinstance(event, Relayed) else None
            size = len(raw) if raw is not None else size_of(event, LONG + 1)
            make = partial(_encode, event) if raw is None else partial(bytes, raw)
            self.keep(size, make, lambda data: self._events.append((at, data, False)), "the rest of the events")

    def refused(self, problem: Problem) -> None:
        """The problem that the client gets instead of an answer."""
        at, data = self.at, _encode({"status": problem.shape.status, **problem.body()})
        self.keep(len(data), lambda: data, lambda data: self._events.append((at, data, True)), "the refusal")

    def ended(self, fields: Mapping[str, Any]) -> None:
        """The turn is over, and is written."""
        outcome = {name: fields[name] for name in OUTCOME if name in fields}
        self._in_order.write(0, lambda: None, lambda _: self._write(outcome))

    def take(self, size: int, what: str) -> bool:
        """Takes room in memory for `size` bytes of this. If there is none, the recording says that it is missing."""
        if self._left_out:
            return False  # what comes later is of no use without what is missing
        if self._owner is None:
            self._owner = str(self._fields.get("owner", ""))
        size += EACH
        if self._held + size > self._recorder.most_bytes:
            self.leave_out(TOO_LONG.format(what))
        elif not self._recorder.held.take(self._owner, size):
            self.leave_out(TOO_MUCH.format(what))
            self._recorder.writer.say_once("busy", "record: recordings are incomplete, because too much waits")
        else:
            self._held += size
            return True
        return False

    def leave_out(self, sentence: str) -> None:
        """Says what is missing."""
        self._left_out[sentence] = None

    def keep(self, size: int, make: Callable[[], bytes], use: Callable[[bytes], None], what: str) -> None:
        """Keeps what `make` returns, which is called in a thread if it takes long. `size`: about how long it is."""
        if self.take(size, what) and not self._in_order.write(size, make, use):
            self.leave_out(TOO_MUCH.format(what))

    def _keep_request(self, data: bytes) -> None:
        self._request = data

    def _write(self, outcome: dict[str, Any]) -> None:
        owner = self._owner or ""
        give_back = partial(self._recorder.held.give_back, owner, self._held)
        if not self._about:  # it was refused before its request was understood
            if self._held:
                give_back()
            return
        about = About(
            am_proxy=VERSION,
            recorded=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            request_id=str(self._fields.get("request_id", "")),
            transport="websocket" if self._fields.get("websocket") else "http",
            settings=self._recorder.settings_for(self._about["model"]),
            upstreams=[tap.upstream for tap in self._exchanges],
            outcome=outcome,
            left_out=list(self._left_out),
            request_is_kept=self._request is not None,
            **self._about,
        )
        make = partial(_recording, about, self._request, self._exchanges, self._events)
        self._recorder.writer.write(owner, str(self._fields.get("key", "")), make, give_back)


class _Ask:
    """One ask of an upstream. Each request that is made for it is recorded by itself. `size`: about how long it is."""

    def __init__(self, turn: RecordedTurn, upstream: str, size: int) -> None:
        self._turn = turn
        self._upstream = upstream
        self._size = size

    def requested(self, body: Any) -> "_RecordedExchange":
        """A request is made."""
        return self._turn.requested_of(self._upstream, body, self._size)

    def connects(self, *, has_connected: bool) -> None:
        """Nothing: times are not compared."""

    def posts(self, shape: Shape) -> None:
        """Nothing: the body is recorded."""

    def library_read(self, data: bytes) -> None:
        """Nothing: the chunks are recorded."""


class _RecordedExchange(Arrivals):
    """One request, and what came back so far."""

    def __init__(self, turn: RecordedTurn, upstream: str, *, is_kept: bool = True) -> None:
        super().__init__()
        self._turn = turn
        self.upstream = upstream
        self.ask = b"null"
        self._is_kept = is_kept

    @property
    def now(self) -> float:
        """Milliseconds since the turn began."""
        return self._turn.at

    def take(self, size: int) -> bool:
        """Whether it is kept."""
        return self._is_kept and self._turn.take(size, "the rest of an answer")

    def keep_ask(self, data: bytes) -> None:
        """The ask as JSON."""
        self.ask = data

    def exchange(self) -> Exchange:
        """All of it."""
        return Exchange(self.upstream, json_value(self.ask), arrivals_of(self.came))


def _recording(
    about: About, request: bytes | None, taps: Sequence[_RecordedExchange], events: Sequence[tuple[float, bytes, bool]]
) -> Recording:
    """The recording. Called in a thread: it decodes all that was kept."""
    lines = [
        ClientEvent(at=at, refused=json_value(data)) if is_refusal else ClientEvent(at=at, event=json_value(data))
        for at, data, is_refusal in events
    ]
    return Recording(about, None if request is None else json_value(request), [tap.exchange() for tap in taps], lines)
