"""Records turns in folders: what the client sent, what upstreams were asked and sent back, and what the client got.

All of a turn is kept in memory until it ends, within limits, and then written. What is beyond the limits is left out,
and the recording says so. `app/recordings` has the format.
"""

import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from ..emitter.encoded_size import LONG, size_of
from ..json_text import json_bytes, json_value
from ..protocol.events import Event, Relayed
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from ..protocol.seals import Sealers
from ..recordings.readable_seals import with_readable
from ..recordings.recording import MOST_ASKS, About, Arrival, ClientEvent, Exchange, Failure, Recording
from ..upstreams.answer_tap import TAP
from ..version import VERSION
from .in_order import Backlog, InOrder
from .recorded_settings import opened_with

AT_ONCE: Final = 4
"""As many recordings of the longest size are held in memory at the same time; of one caller, half as many."""
EACH: Final = 128
"""Bytes counted for every event and piece in addition to its text."""
TOO_LONG: Final = "It is longer than record_turn_bytes: {} is missing."
TOO_MUCH: Final = "Too much waited to be written: {} is missing."
OUTCOME: Final = (
    *("finish", "status", "error", "reason", "cause", "duration_ms", "first_token_ms", "warnings"),
    *("searches", "opened_pages", "usage"),
)
"""The fields of the log line that are kept."""
HEADERS: Final = frozenset({"content-type", "retry-after", "retry-after-ms"})

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
        sealers: Sealers | None = None,
    ) -> None:
        self.writer = writer
        self.settings_for = settings_for
        self.most_bytes = most_bytes_of_one
        self.held = Backlog(AT_ONCE * most_bytes_of_one, AT_ONCE * most_bytes_of_one // 2)
        """Bytes in memory."""
        self.encoding = Backlog()
        self._sealers = sealers

    def began(self, fields: Mapping[str, Any]) -> "RecordedTurn":
        """One more turn."""
        return RecordedTurn(self, fields)

    def request_of(self, raw: dict[str, Any], owner: str) -> bytes:
        """The request as JSON. What this server encrypted for its owner is readable."""
        return json_bytes(with_readable(raw, opened_with(self._sealers, owner)))

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
        self._exchanges: list[_AskTap] = []
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
        make = partial(self._recorder.request_of, request.raw, str(self._fields.get("owner", "")))
        self.keep(request.size, make, self._keep_request, "the request")

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:  # noqa: ARG002 — the body that is posted is recorded
        """From now on this upstream is asked in this task."""
        TAP.set(partial(self._tap, upstream, 2 * request.size))

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """Nothing: the tap gets this ask too."""

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Nothing: the tap gets what it failed by."""

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

    def _tap(self, upstream: str, size: int, ask: Any) -> "_AskTap":
        if len(self._exchanges) >= MOST_ASKS:
            self.leave_out(f"There were more than {MOST_ASKS} asks.")
            return _NoTap(self, upstream)
        tap = _AskTap(self, upstream)
        self._exchanges.append(tap)
        if isinstance(ask, bytes):
            self.keep(len(ask), lambda: ask, tap.keep_ask, "an ask")
        else:
            self.keep(size, partial(json_bytes, ask), tap.keep_ask, "an ask")
        return tap

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


class _AskTap:
    """One ask, and what came back so far."""

    def __init__(self, turn: RecordedTurn, upstream: str) -> None:
        self._turn = turn
        self.upstream = upstream
        self.ask = b"null"
        self._arrivals: list[Arrival] = []
        self._pieces: list[tuple[int, bytes]] = []
        """The pieces of the body, each with its position in the arrivals."""

    def keep_ask(self, data: bytes) -> None:
        """The ask as JSON."""
        self.ask = data

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """An HTTP answer begins."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in HEADERS}
        self._add(Arrival(at=self._turn.at, status=status, headers=kept), 0)

    def piece(self, data: bytes) -> None:
        """A piece of its body."""
        if self._add(Arrival(at=self._turn.at, text=""), len(data)):
            self._pieces.append((len(self._arrivals) - 1, data))

    def chunk(self, chunk: Any) -> None:
        """A chunk. It is encoded at once, because others may change it."""
        data = json_bytes(chunk)
        self._add(Arrival(at=self._turn.at, chunk=msgspec.Raw(data)), len(data))

    def refused(self, problem: Problem, more: Mapping[str, Any]) -> None:
        """The upstream refused or broke off."""
        self._add(Arrival(at=self._turn.at, problem={**msgspec.to_builtins(problem), **more}), 0)

    def failed(self, failure: Failure) -> None:
        """The connection failed."""
        self._add(Arrival(at=self._turn.at, failed=failure), 0)

    def closed(self) -> None:
        """The rest of the answer is not read."""
        self._add(Arrival(at=self._turn.at, closed=True), 0)

    def exchange(self) -> Exchange:
        """All of it. A character whose bytes came in two pieces belongs to the later one."""
        decoder = getincrementaldecoder("utf-8")("surrogateescape")
        arrivals = list(self._arrivals)
        for number, (position, data) in enumerate(self._pieces, 1):
            text = decoder.decode(data, final=number == len(self._pieces))
            arrivals[position] = replace(arrivals[position], text=text)
        return Exchange(
            self.upstream,
            json_value(self.ask),
            [
                replace(arrival, chunk=json_value(bytes(arrival.chunk))) if arrival.chunk is not None else arrival
                for arrival in arrivals
            ],
        )

    def _add(self, arrival: Arrival, size: int) -> bool:
        if not self._turn.take(size, "the rest of an answer"):
            return False
        self._arrivals.append(arrival)
        return True


class _NoTap(_AskTap):
    """An ask that is not recorded."""

    def _add(self, arrival: Arrival, size: int) -> bool:  # noqa: ARG002 — nothing is kept
        return False


def _recording(
    about: About, request: bytes | None, taps: Sequence[_AskTap], events: Sequence[tuple[float, bytes, bool]]
) -> Recording:
    """The recording. Called in a thread: it decodes all that was kept."""
    lines = [
        ClientEvent(at=at, refused=json_value(data)) if is_refusal else ClientEvent(at=at, event=json_value(data))
        for at, data, is_refusal in events
    ]
    return Recording(about, None if request is None else json_value(request), [tap.exchange() for tap in taps], lines)
