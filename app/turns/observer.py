"""Observers of turns: metrics, traces, the inspector. They change nothing, and a turn does not wait for them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeGuard, runtime_checkable

from ..protocol.events import Event
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse

log = logging.getLogger("am_proxy")


class TurnObserver(Protocol):
    """What an observer records of one turn."""

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:
        """The client's request, the ask that this upstream is sent for it, and the warnings of its translation.

        Called once for each ask: again where another upstream is asked, or the same one after a summary, or without
        what it refused.
        """
        ...

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """The upstream has paused its answer, and is sent this ask of about `size` bytes to go on."""
        ...

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """The upstream that was asked last refused before it sent anything. Another one may still answer."""
        ...

    def sent(self, events: list[Event]) -> None:
        """These events are sent to the client."""
        ...

    def refused(self, problem: Problem) -> None:
        """The client gets this problem, no answer. The log has only its code: the message may quote the client."""
        ...

    def ended(self, fields: Mapping[str, Any]) -> None:
        """The turn is over; `fields` is its log line. Called once, however it ended."""
        ...


@runtime_checkable
class RequestObserver(Protocol):
    """An observer of one turn that also sees requests which are refused before an upstream is asked."""

    def requested(self, request: CreateResponse, *, for_codex: bool, sees_causes: bool) -> None:
        """The client's request, before it is translated. `sees_causes`: errors say why an upstream failed."""
        ...


def _sees_requests(observer: TurnObserver) -> TypeGuard[RequestObserver]:
    return _has_requested(type(observer))


@cache
def _has_requested(kind: type) -> bool:
    return issubclass(kind, RequestObserver)  # slow, as it compares the names of methods


@runtime_checkable
class InvalidRequestObserver(Protocol):
    """An observer of one turn that also sees what is not even a valid request."""

    def invalid(self, raw: dict[str, Any], size: int) -> None:
        """The JSON object that was posted, of `size` bytes. It may have any shape."""
        ...


class Observer(Protocol):
    """Observes every turn."""

    def began(self, fields: Mapping[str, Any]) -> TurnObserver:
        """A request came in. `fields` has its `request_id`, and whether it came over a websocket."""
        ...


class Observers:
    """All observers of one turn. One that raises is logged once; after that it is called only at the end of the turn.

    It is called at the end all the same, because that is where it releases what it holds.
    """

    def __init__(self, observers: Sequence[Observer], fields: Mapping[str, Any]) -> None:
        self._request_id = fields.get("request_id", "")
        self._failed: set[int] = set()
        """Positions in `_observers`."""
        self._observers: list[TurnObserver] = []
        for observer in observers:
            try:
                self._observers.append(observer.began(fields))
            except Exception as error:  # noqa: BLE001 — no error of an observer may end the turn
                self._log(observer, error)

    def each(self, call: Callable[[TurnObserver], None]) -> None:
        """Calls every observer that has not failed."""
        for position, observer in enumerate(self._observers):
            if position not in self._failed:
                self._guarded(position, observer, call)

    def requested(self, request: CreateResponse, *, for_codex: bool, sees_causes: bool) -> None:
        """Calls the observers of requests."""

        def call(observer: TurnObserver) -> None:
            if _sees_requests(observer):
                observer.requested(request, for_codex=for_codex, sees_causes=sees_causes)

        self.each(call)

    def invalid(self, raw: dict[str, Any], size: int) -> None:
        """Calls the observers of what is no valid request."""

        def call(observer: TurnObserver) -> None:
            if isinstance(observer, InvalidRequestObserver):
                observer.invalid(raw, size)

        self.each(call)

    def sent(self, events: list[Event]) -> None:
        """The same as `each`, for events that are sent. It is written out, because it runs for every batch."""
        for position, observer in enumerate(self._observers):
            if position not in self._failed:
                try:
                    observer.sent(events)
                except Exception as error:  # noqa: BLE001 — as above
                    self._log(observer, error)
                    self._failed.add(position)

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Calls every observer: the turn is over."""
        for position, observer in enumerate(self._observers):
            self._guarded(position, observer, lambda observer: observer.ended(fields))

    def _guarded(self, position: int, observer: TurnObserver, call: Callable[[TurnObserver], None]) -> None:
        try:
            call(observer)
        except Exception as error:  # noqa: BLE001 — as above
            if position not in self._failed:
                self._log(observer, error)
            self._failed.add(position)

    def _log(self, observer: Observer | TurnObserver, error: Exception) -> None:
        extra = {"request_id": self._request_id}
        log.error("an observer failed: %s", type(observer).__name__, exc_info=error, extra=extra)
