"""The log: one line for each turn."""

import json
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

from ..settings.tables import Caller, ServerSettings
from ..types.problems import Problem
from .metrics import cost_of

if TYPE_CHECKING:
    from ..turns.turn import Turn

log = logging.getLogger("am_proxy")
_MOST = 20
"""Warnings in a line."""
_LONGEST = 250


class _Json(logging.Formatter):
    """A line of JSON; empty fields are left out."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """What is told of this record."""
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return {name: value for name, value in fields.items() if value not in (None, "", 0, [], {})}

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record))


class _Text(_Json):
    """A line for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        fields = self.fields(record)
        head = [str(fields.pop(name)) for name in ("time", "level", "message")]
        return " ".join([*head, *(f"{name}={value}" for name, value in fields.items())])


def set_up(server: ServerSettings) -> None:
    """Logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = server.log_format == "text" or (server.log_format == "auto" and sys.stderr.isatty())
    handler.setFormatter(_Text() if text else _Json())
    log.handlers[:] = [handler]
    log.setLevel(server.log_level.upper())
    log.propagate = False


def log_turn(turn: "Turn", caller: Caller, took: float) -> None:
    """The line of a turn."""
    level = logging.WARNING if turn.problem is not None else logging.INFO
    if log.isEnabledFor(level):
        log.log(level, "turn", extra={"fields": fields_of(turn, caller, took)})


def fields_of(turn: "Turn", caller: Caller, took: float) -> dict[str, Any]:
    """What the line of a turn tells; the inspector shows the same."""
    usage = turn.usage
    problem = turn.problem
    return {
        "request_id": turn.request_id,
        "key": caller.name,
        "model": turn.request.model,
        "stream": turn.request.stream,
        "upstream": turn.route.name,
        "finish": turn.finish,
        "status": problem.status if problem else 200,
        "error": problem.code if problem else None,
        "cause": turn.cause or (problem.message if problem else None),
        "input_tokens": usage.input_tokens if usage else None,
        "cached_tokens": usage.input_tokens_details.cached_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "reasoning_tokens": usage.output_tokens_details.reasoning_tokens if usage else None,
        "first_token_ms": round((turn.first_at - turn.signals.began) * 1000) if turn.first_at else None,
        "duration_ms": round(took * 1000),
        "warnings": [warning.details[:_LONGEST] for warning in turn.warned[:_MOST]],
        "retries": turn.retries,
        "cost_estimate": cost_of(usage, turn.route.model.settings),
    }


def log_request(request_id: str, caller: Caller, model: str | None, finish: str, problem: Problem | None) -> None:
    """The line of a request that ended without a turn."""
    fields = {"request_id": request_id, "key": caller.name, "model": model, "finish": finish, "status": 200}
    if problem is not None:
        fields |= {"status": problem.status, "error": problem.code, "cause": problem.message}
    log.log(logging.INFO if problem is None else logging.WARNING, "turn", extra={"fields": fields})
