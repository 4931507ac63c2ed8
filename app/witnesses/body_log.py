"""Everything that was said, in the log: for whoever hunts a fault and may read it. Off unless it is asked for."""

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from app.protocol.events import Event, LastEvent, RelayedLast
from app.protocol.json_bytes import json_value
from app.protocol.problems import Problem
from app.protocol.request import CreateResponse
from app.witnesses.redaction import redacted, shown

log = logging.getLogger("am_proxy.bodies")

WARNING: Final = "log_bodies is on: the log holds all that clients and models say, and whoever reads it reads them"


class BodyLog:
    """A witness that writes down what was asked and what was answered."""

    def began(self, fields: Mapping[str, Any]) -> "LoggedTurn":
        """One more turn."""
        return LoggedTurn(str(fields.get("request_id", "")))


class LoggedTurn:
    """One turn: a line for what was asked, one for how it was answered."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def asked(self, request: CreateResponse, ask: Any, warnings: list[str], upstream: str) -> None:  # noqa: ARG002 — the log has the warnings already
        """What the client wanted, and what this upstream is asked."""
        self._tell("asked", upstream=upstream, **shown(request, ask))

    def told(self, events: list[Event]) -> None:
        """The last event holds the whole response."""
        last = events[-1] if events else None
        if isinstance(last, RelayedLast):
            self._tell("answered", response=redacted(json_value(last.body)))
        elif isinstance(last, LastEvent):
            self._tell("answered", response=redacted(msgspec.to_builtins(last.response)))

    def refused(self, problem: Problem) -> None:
        """The turn's own line has its code."""

    def ended(self, fields: Mapping[str, Any]) -> None:
        """The turn's own line says how."""

    def _tell(self, what: str, **bodies: Any) -> None:
        log.info(what, extra={"request_id": self._request_id, "fields": bodies})
