"""How log lines look: text for people, JSON for machines. Secrets are blotted out of both, as a second net."""

import json
import logging
import sys
import time
from typing import Any, Literal, TextIO

from app.observers.redaction import blotted, may_hold_secrets, redacted


def configure(form: Literal["auto", "text", "json"], level: str = "info") -> None:
    """Sends every log line from this level on to stderr. `auto` is text on a terminal and JSON elsewhere."""
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    handler = Lines(sys.stderr)
    handler.setFormatter(TextLines() if form == "text" else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("am_proxy").setLevel(level.upper())


class Lines(logging.StreamHandler[TextIO]):
    """Makes a line before it takes the lock, for which other threads wait."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Writes this record."""
        try:
            record.line = super().format(record)
        except Exception:  # noqa: BLE001 — as where lines are made otherwise
            self.handleError(record)
            return False
        return bool(super().handle(record))

    def format(self, record: logging.LogRecord) -> str:
        """The line that is there already."""
        return str(vars(record).pop("line"))


class TextLines(logging.Formatter):
    """`12:03:44 INFO turn model=demo finish=completed …`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback of our own faults."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = " ".join(f"{name}={_short(value)}" for name, value in _fields(record).items())
        line = f"{clock} {record.levelname} {record.getMessage()} {fields}".rstrip()
        return blotted(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The same, for machines."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, default=str)
        # values are searched, and not the JSON text: what stands for a secret must keep the line valid
        return json.dumps(redacted(json.loads(text))) if may_hold_secrets(text) else text


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = dict(getattr(record, "fields", {}))
    if request_id := getattr(record, "request_id", None):
        fields["request_id"] = request_id
    return fields


def _short(value: Any) -> str:
    text = str(value)
    return text if text and text.isprintable() and " " not in text else json.dumps(text)
