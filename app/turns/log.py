"""One log line for each turn, without its prompt and its output."""

import logging
import re
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple

from starlette.datastructures import Headers

from ..prices import ModelPrice
from ..protocol.events import Ending, Event, ItemEvent, LastEvent, RelayedItem, RelayedLast
from ..protocol.problems import Problem, ProblemError
from ..protocol.request.create_response import CreateResponse
from ..protocol.response import Response, Usage
from ..settings import Key
from ..upstreams.taps import TAPS
from .observer import Observer, Observers

log = logging.getLogger("am_proxy.turn")


LONGEST_NAME: Final = 200
"""Characters of a client's name, and of the name of a conversation."""
CONVERSATION: Final = ("conversation_id", "conversation-id", "thread-id", "session_id", "session-id")
"""Headers in which clients such as Codex name a conversation."""
HIDDEN: Final = frozenset({"cached_tokens", "client", "cost_source", "owner", "steps"})
"""Fields that only observers see."""
_TELLING: Final = frozenset(name.encode() for name in ("traceparent", "originator", *CONVERSATION))
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Client(NamedTuple):
    """What a request says about its client."""

    name: str
    """The program, as it names itself to this API; empty for most."""
    conversation: str = ""
    """Its name of the conversation; empty if it has none."""


def told_by(headers: Headers) -> dict[str, Any]:
    """What the headers say about a turn: its place in its client's trace, and its client."""
    told: dict[str, Any] = {}
    given: dict[str, str] = {}  # each search in the headers is slow
    for raw_name, raw_value in headers.raw:
        if raw_name in _TELLING:
            given.setdefault(raw_name.decode(), raw_value.decode("latin-1"))  # of several, the first counts
    if not given:
        return told
    traceparent = given.get("traceparent", "")
    if _TRACEPARENT.fullmatch(traceparent):
        told["traceparent"] = traceparent
    name = given.get("originator", "")[:LONGEST_NAME]
    conversation = next((value for header in CONVERSATION if (value := given.get(header, ""))), "")
    if name or conversation:
        told["client"] = Client(name, conversation[:LONGEST_NAME])
    return told


class TurnLog:
    """Collects the fields of one turn's log line, and writes it."""

    def __init__(self, observers: Sequence[Observer] = (), **fields: Any) -> None:
        self._fields: dict[str, Any] = fields
        self._observers = Observers(observers, fields)
        self._more: dict[str, Any] = {}
        """What only the line for people has."""
        self._began = time.perf_counter()
        self._first: float | None = None
        self._price: Callable[[], ModelPrice | None] = lambda: None

    @property
    def request_id(self) -> str:
        """The id of the request; empty if it has none."""
        return str(self._fields.get("request_id", ""))

    @property
    def has_failed(self) -> bool:
        """Whether its last event says that it failed."""
        return self._fields.get("finish") == "failed"

    def note(self, **fields: Any) -> None:
        """Adds fields."""
        self._fields |= fields

    def reached(self, step: Literal["admitted", "body", "read"]) -> None:
        """Notes when a step was reached: the turn may begin; all of the body is there; it is read."""
        self._fields.setdefault("steps", {})[step] = time.perf_counter()

    def set_caller(self, caller: Key) -> None:
        """Sets the caller. The log names its key; the owner is for observers that show turns to their owners."""
        self._fields |= {"key": caller.name, "owner": caller.owner}

    def requested(self, request: CreateResponse, *, for_codex: bool, sees_causes: bool) -> None:
        """Called when the request is understood."""
        self._observers.requested(request, for_codex=for_codex, sees_causes=sees_causes)

    def reading(self, raw: dict[str, Any], size: int) -> "_Reading":
        """Around the reading of a request from this JSON object of `size` bytes, which may not be a valid one."""
        return _Reading(self._observers, raw, size)

    def asked(
        self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str, prompt: Any = None
    ) -> None:
        """Called when an upstream is asked. The line names the last one, and the warnings of its ask.

        The `prompt` is a field for the observers, while they are called: most have no use for it.
        """
        self.note(upstream=upstream)
        if warnings or "warnings" in self._fields:
            self.note(warnings=warnings)
        self._fields["prompt"] = prompt
        TAPS.set(())
        self._observers.each(lambda observer: observer.asked(request, ask, warnings, upstream))
        del self._fields["prompt"]  # it may be long

    def priced_by(self, price: Callable[[], ModelPrice | None]) -> None:
        """Sets what the tokens of the upstream that is asked cost. Asked for now and at the end: a list may be read."""
        self._price = price
        price()

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """Called when an upstream is asked to go on with an answer that it has paused."""
        TAPS.set(())
        self._observers.each(lambda observer: observer.goes_on(ask, size, upstream))

    def explain(self, cause: str) -> None:
        """Sets the cause of a failure in words, for the line that people read."""
        self._more["cause"] = cause

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Called when an upstream that was asked has refused."""
        self._observers.each(lambda observer: observer.attempt_failed(upstream, problem))

    def ends(self, last: LastEvent | RelayedLast) -> None:
        """Called before the event is sent that says how the turn ended."""
        self._note_end(last.response)

    def sent(self, batch: list[Event]) -> None:
        """Called when a batch is sent to the client. Records the time of the first item."""
        if self._first is None:
            for event in batch:
                if isinstance(event, ItemEvent | RelayedItem):
                    self._first = time.perf_counter()
                    break
        self._observers.sent(batch)

    def refused(self, problem: Problem) -> None:
        """Records that the client gets this problem instead of an answer."""
        self._observers.each(lambda observer: observer.refused(problem))
        self.note(finish="refused", status=problem.shape.status, error=problem.code)
        self._more["param"] = problem.param

    def failed(self) -> None:
        """Records that the turn failed by a fault of this server, whose details are in the server's own log."""
        self.note(finish="failed", status=HTTPStatus.INTERNAL_SERVER_ERROR.value, error="internal_error")

    def write(self) -> None:
        """Writes the line. Without a last event or a refusal, the client has disconnected."""
        self._fields.setdefault("finish", "disconnected")
        if self._first is not None:
            self._fields["first_token_ms"] = round((self._first - self._began) * 1000)
        self._fields["duration_ms"] = round((time.perf_counter() - self._began) * 1000)
        fields = {name: value for name, value in self._fields.items() if name not in HIDDEN}
        log.info("turn", extra={"fields": fields, "more": self._more})
        self._observers.ended(self._fields)

    def _note_end(self, response: Response | Ending) -> None:
        self.note(finish=response.status)
        if response.usage is not None:
            self.note(input_tokens=response.usage.input_tokens, output_tokens=response.usage.output_tokens)
            cached = self._more["cached_tokens"] = response.usage.input_tokens_details.cached_tokens
            self.note(cached_tokens=cached)
            self._note_cost(response.usage)
        if response.incomplete_details is not None:
            self.note(reason=response.incomplete_details.reason)
        if response.error is not None:
            self.note(error=response.error.code, problem=response.error.message)

    def _note_cost(self, usage: Usage) -> None:
        price, read = self._price(), usage.input_tokens_details
        if price is not None:
            cost = price.cost(
                sent=usage.input_tokens,
                cached=read.cached_tokens,
                written=read.cache_write_tokens,
                received=usage.output_tokens,
            )
            self.note(cost_estimate=round(cost, 8), cost_source=price.source)


class _Reading:
    """Around the reading of a request: observers are told of what is no valid one."""

    __slots__ = ("_observers", "_raw", "_size")

    def __init__(self, observers: Observers, raw: dict[str, Any], size: int) -> None:
        self._observers = observers
        self._raw = raw
        self._size = size

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ProblemError):
            self._observers.invalid(self._raw, self._size)


class NoLog(TurnLog):
    """A log that writes no line, for requests that do not run a turn."""

    def write(self) -> None:
        """Writes nothing."""
