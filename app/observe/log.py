"""The log: a line for each turn, aligned for people on a terminal, and JSON for programs elsewhere."""

import json
import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..settings.tables import Caller, ServerSettings
from ..types.json import decode, encode
from ..types.problems import Problem
from ..types.redact import without_keys

if TYPE_CHECKING:
    from ..turns.turn import Turn

log = logging.getLogger("am_proxy")
_MOST = 20
"""Warnings in a line."""
_LONGEST = 250
_LONGEST_NAME = 200
_FOREIGN = ("request_id", "model", "cause", "warnings")
"""Fields with words of clients and upstreams."""
_QUIET = 60
"""Seconds between two warnings about an upstream."""
_warned: dict[str, float] = {}
"""By upstream: until when there is no other warning."""
_COLOURS = {"WARNING": 33, "ERROR": 31, "failed": 33, "refused": 33, "completed": 32, "counted": 32, "searched": 32}
_ENDED = {"failed": "fail", "disconnected": "gone", "incomplete": "cut"}
"""What stands for the status of an answer that began with 200."""
_QUOTED = re.compile(r"'([^']{1,60})'")
"""What a warning is about, such as a type of tools."""


class _Json(logging.Formatter):
    """A line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "message": without_keys(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = without_keys(self.formatException(record.exc_info))
        return json.dumps(line)


class _Text(logging.Formatter):
    """A line for people: of a turn in columns."""

    def __init__(self) -> None:
        super().__init__()
        self._colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = getattr(record, "fields", {})
        if "finish" in fields:
            word, kind = f"{_status(fields):<4}", fields["finish"]
            rest = self._columns(fields)
        else:
            word = kind = record.levelname
            rest = without_keys(": ".join([record.getMessage(), *map(str, fields.values())]))
        lines = [_printable(rest)]
        if record.exc_info:
            lines += map(_printable, without_keys(self.formatException(record.exc_info)).split("\n"))
        return f"{self._painted(clock, 2)}  {self._painted(word, _COLOURS.get(kind, 36))}  " + "\n".join(lines)

    def _columns(self, fields: Mapping[str, Any]) -> str:
        """What stands behind the time and the status. Who asks about a request that failed knows its id."""
        model, upstream = fields.get("model", ""), fields.get("upstream")
        about = f"{model} → {upstream}" if upstream else model
        if fields["finish"] in ("failed", "refused"):
            tries = sum(fields.get("retries", {}).values()) + 1
            words = [fields.get("cause", "") + (f" (tried {tries} times)" if tries > 1 else "")]
            words.append(fields["request_id"])
        else:
            tokens = " → ".join([f"{fields[name]:,}" for name in ("input_tokens", "output_tokens") if name in fields])
            words = [f"{tokens:<12}", f"{_seconds(fields.get('duration_ms')):<6}"]
            if "retries" in fields:
                words.append(f"after {', '.join(fields['retries'])} failed")
            if warned := [(_QUOTED.findall(each) or [each])[0] for each in fields.get("warnings", ())]:
                words.append(f"warned: {', '.join(dict.fromkeys(warned))}")
            if "first_token_ms" in fields:
                words.append(f"first {_seconds(fields['first_token_ms'])}")
            if "cached_tokens" in fields:
                words.append(f"{fields['cached_tokens']:,} cached")
        return "  ".join([f"{about:<20}", *words]).rstrip()

    def _painted(self, text: str, colour: int) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours else text


def set_up(server: ServerSettings, file: Path | None = None) -> None:
    """Logs to standard error, or to a file, which is made for its first line; what libraries warn of, too."""
    handler = logging.FileHandler(file, delay=True) if file else logging.StreamHandler(sys.stderr)
    text = server.log_format == "text" or (server.log_format == "auto" and sys.stderr.isatty())
    handler.setFormatter(_Text() if text and not file else _Json())
    logging.getLogger().handlers[:] = [handler]
    log.setLevel(server.log_level.upper())


def fields_of(turn: "Turn", caller: Caller, took: float, cost: float | None) -> dict[str, Any]:
    """What the log says of a turn that has ended."""
    usage, problem, is_told = turn.usage, turn.problem, turn.signals.is_told
    fields = {
        "request_id": turn.request_id,
        "key": caller.name,
        "model": turn.request.model[:_LONGEST_NAME],
        "stream": turn.request.stream,
        "upstream": turn.route.name,
        "finish": turn.finish,
        "status": problem.status if problem and not is_told else 200,
        "error": (problem.failed_code if is_told else problem.code) if problem else None,
        "cause": turn.cause or (problem.message if problem else ""),
        "input_tokens": usage.input_tokens if usage else None,
        "cached_tokens": usage.input_tokens_details.cached_tokens or None if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "reasoning_tokens": usage.output_tokens_details.reasoning_tokens or None if usage else None,
        "first_token_ms": round((turn.first_at - turn.signals.began) * 1000) if turn.first_at else None,
        "duration_ms": round(took * 1000),
        "warnings": [warning[:_LONGEST] for warning in turn.warned[:_MOST]],
        "retries": turn.retries,
        "cost_estimate": cost,
    }
    return _told(fields)


def fields_without_turn(
    request_id: str, caller: Caller, model: str | None, finish: str, problem: Problem | None
) -> dict[str, Any]:
    """The same of a request for which no turn was run."""
    fields = {"request_id": request_id, "key": caller.name, "model": (model or "")[:_LONGEST_NAME], "finish": finish}
    ended = {"status": problem.status, "error": problem.code, "cause": problem.message} if problem else {"status": 200}
    return _told({**fields, **ended})


def _told(fields: Mapping[str, Any]) -> dict[str, Any]:
    """These fields without keys, which clients and upstreams may have put into some; empty ones are left out."""
    told = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    foreign = encode({name: told[name] for name in _FOREIGN if name in told}).decode()
    return {**told, **decode(without_keys(foreign))}  # what looks like a key holds no quotation mark


def log_turn(fields: Mapping[str, Any]) -> None:
    """The line of a turn, or of a request for which none was run."""
    log.info("turn", extra={"fields": fields})


def log_failing(upstream: str, cause: str) -> None:
    """A warning about an upstream, at most once a minute."""
    now = time.monotonic()
    if now >= _warned.get(upstream, now):
        _warned[upstream] = now + _QUIET
        log.warning("upstream fails", extra={"fields": {"upstream": upstream, "cause": without_keys(cause)}})


def _printable(text: str) -> str:
    """The text in one line, and without what a terminal would obey."""
    return "".join([letter if letter.isprintable() else "?" for letter in " ".join(text.splitlines())])


def _status(fields: Mapping[str, Any]) -> str:
    return _ENDED.get(fields["finish"], "200") if fields["status"] == 200 else str(fields["status"])


def _seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.2f} s"
