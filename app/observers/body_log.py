"""Logs requests and answers in full, to find faults. Off by default."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..emitter.encoded_size import size_of
from ..json_text import json_value
from ..protocol.events import Event, LastEvent, RelayedLast
from ..protocol.problems import Problem
from ..protocol.request.create_response import CreateResponse
from .in_order import BUSY, Backlog, InOrder
from .redaction import LONGEST, ask_left_out, brief, redacted, shown

log = logging.getLogger("am_proxy.bodies")

WARNING: Final = "log_bodies is on: the log contains everything that clients and models send"


class BodyLog:
    """The observer that logs requests and responses."""

    def __init__(self) -> None:
        self._backlog = Backlog()
        self.close = self._backlog.close

    def began(self, fields: Mapping[str, Any]) -> "LoggedTurn":
        """One more turn."""
        return LoggedTurn(self._backlog, fields)


class LoggedTurn:
    """One turn: a line for each ask, and one for the response."""

    def __init__(self, backlog: Backlog, fields: Mapping[str, Any]) -> None:
        self._request_id = str(fields.get("request_id", ""))
        self._lines = InOrder(backlog, fields)

    def asked(self, request: CreateResponse, ask: Any, warnings: Sequence[str], upstream: str) -> None:  # noqa: ARG002 — the log has the warnings already
        """Logs the client's request, and the ask for this upstream."""
        size = 2 * request.size if request.size <= LONGEST else 0  # the ask is about as long
        instead = brief(request, BUSY)
        self._write(size, "asked", partial(shown, request, ask), instead, upstream=upstream)

    def goes_on(self, ask: Any, size: int, upstream: str) -> None:
        """Logs the ask for the rest of a paused answer."""
        if size > LONGEST:
            self._write(0, "asked to go on", partial(ask_left_out, size), {}, upstream=upstream)
        else:
            self._write(
                size, "asked to go on", lambda: {"ask": redacted(ask)}, ask_left_out(size, BUSY), upstream=upstream
            )

    def attempt_failed(self, upstream: str, problem: Problem) -> None:
        """Logs the problem of one upstream. The client may not get it."""
        self._write(0, "attempt failed", lambda: redacted(problem.body()), {}, upstream=upstream)

    def sent(self, events: list[Event]) -> None:
        """Logs the response, which the last event contains."""
        last = events[-1] if events else None
        if not isinstance(last, LastEvent | RelayedLast):
            return
        size = len(last.body) if isinstance(last, RelayedLast) else size_of(last, LONGEST + 1, LONGEST)
        if size > LONGEST:
            self._write(0, "answered", lambda: _left_out(f"more than {LONGEST} bytes"), {})
        else:
            self._write(size, "answered", partial(_response, last), _left_out(f"{size} bytes{BUSY}"))

    def refused(self, problem: Problem) -> None:
        """Writes nothing: the turn's own log line has its code."""

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Writes nothing: `fields` is the turn's own log line."""

    def _write(
        self, size: int, what: str, bodies: Callable[[], dict[str, Any]], instead: dict[str, Any], **more: Any
    ) -> None:
        """Writes a line with these bodies; with `instead` if too much waits to be written."""

        def write(bodies: Callable[[], dict[str, Any]]) -> None:
            log.info(what, extra={"request_id": self._request_id, "fields": {**more, **bodies()}})

        if not self._lines.write(size, partial(write, bodies)):
            write(lambda: instead)


def _left_out(size: str) -> dict[str, Any]:
    return {"response": {"left_out": f"… ({size})"}}


def _response(last: LastEvent | RelayedLast) -> dict[str, Any]:
    response = json_value(last.body) if isinstance(last, RelayedLast) else msgspec.to_builtins(last.response)
    return {"response": redacted(response)}
