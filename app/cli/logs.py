"""The format of log lines: text for people, JSON for programs. Secrets are redacted in both, as a second safeguard."""

import json
import logging
import sys
import time
from typing import Any, Literal, TextIO

from ..observers.redaction import may_hold_secrets, redacted, redacted_line


def configure(form: Literal["auto", "text", "json"], level: str = "info") -> None:
    """Write every log line of this level and above to stderr. `auto` is text on a terminal and JSON elsewhere."""
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    handler = Lines(sys.stderr)
    handler.setFormatter(TextLines() if form == "text" else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("am_proxy").setLevel(level.upper())


class Lines(logging.StreamHandler[TextIO]):
    """A handler that formats a line before it takes the lock, for which other threads wait."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Format this record, then write it."""
        try:
            record.line = super().format(record)
        except Exception:  # noqa: BLE001 — as logging itself does
            self.handleError(record)
            return False
        return bool(super().handle(record))

    def format(self, record: logging.LogRecord) -> str:
        """The line that `handle` has formatted."""
        return str(vars(record).pop("line"))


class TextLines(logging.Formatter):
    """`12:03:44 INFO turn model=demo finish=completed …`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, with the traceback if there is one."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = " ".join(f"{name}={_short(value)}" for name, value in _fields(record).items())
        line = f"{clock} {record.levelname} {record.getMessage()} {fields}".rstrip()
        return redacted_line(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, default=str)
        # the values are redacted, not the JSON text, so that the line stays valid
        return json.dumps(redacted(json.loads(text))) if may_hold_secrets(text) else text


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = dict(getattr(record, "fields", {}))
    if request_id := getattr(record, "request_id", None):
        fields["request_id"] = request_id
    return fields


def _short(value: Any) -> str:
    text = str(value)
    return text if text and text.isprintable() and " " not in text else json.dumps(text)
