"""The format of log lines: text for people, JSON for programs. Secrets are redacted in both, as a second safeguard."""

import json
import logging
import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TextIO

from ..key_search import may_hold_secrets, redacted_line
from ..observers.redaction import redacted
from .style import Style, colour_wanted, harmless, painted
from .turn_line import TurnEnd, turn_line

_LEVELS: Final[Mapping[str, tuple[Style, ...]]] = {"WARNING": ("yellow",), "ERROR": ("bold", "red")}
_encoded: Final = json.JSONEncoder(default=str).encode
_NARROWEST: Final = 30
"""The smallest width of a message, however narrow the terminal is."""


def configure(form: Literal["auto", "text", "json"], level: str = "info", *, with_pid: bool = False) -> None:
    """Write every log line of this level and above to stderr. `auto` is text on a terminal and JSON elsewhere.

    `with_pid`: lines of JSON say which process wrote them.
    """
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    handler = Lines(sys.stderr)
    text = TextLines(columns=partial(columns_of, sys.stderr), colour=colour_wanted(sys.stderr))
    handler.setFormatter(text if form == "text" else JsonLines(os.getpid() if with_pid else None))
    # no line names the place in the code or the thread, and to find them takes a third of the time of a line
    logging._srcfile = None  # noqa: SLF001 — the documented way
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
    logging.getLogger("am_proxy").setLevel(level.upper())


def columns_of(stream: TextIO) -> int | None:
    """The width of the terminal that this stream writes to; None if it is none."""
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


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
    """`12:03:44  200  demo → demo  …` for a turn, `12:03:44  WARNING  what happened` for anything else."""

    def __init__(self, columns: Callable[[], int | None] = lambda: None, *, colour: bool = False) -> None:
        """`columns`: the width of the terminal; None where there is none."""
        super().__init__()
        self._columns = columns
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """One line, with the traceback if there is one."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        more = getattr(record, "more", None)
        line = self._message(record, clock) if more is None else self._turn(record, clock, more)
        if record.exc_info:
            line = "\n".join((line, *map(harmless, self.formatException(record.exc_info).split("\n"))))
        return redacted_line(line)

    def _turn(self, record: logging.LogRecord, clock: str, more: Mapping[str, Any]) -> str:
        end = TurnEnd(_fields(record), more)
        return turn_line(end, clock, columns=self._columns(), colour=self._colour)

    def _message(self, record: logging.LogRecord, clock: str) -> str:
        words = getattr(record, "words", None)
        if words is None:
            fields = " ".join(f"{name}={_short(value)}" for name, value in _fields(record).items())
            words = f"{record.getMessage()} {fields}"
        words = harmless(" ".join(words.splitlines())).rstrip()
        head = f"{clock}  {record.levelname}  "
        columns = self._columns()
        if columns is not None and not record.exc_info:
            width = max(columns - len(head), _NARROWEST)
            words = f"\n{' ' * len(head)}".join(textwrap.wrap(words, width, break_on_hyphens=False)) or words
        level = painted(record.levelname, *_LEVELS.get(record.levelname, ()), colour=self._colour)
        return f"{painted(clock, 'dim', colour=self._colour)}  {level}  {words}"


class JsonLines(logging.Formatter):
    """One JSON object per line, with the number of this process if one is given."""

    def __init__(self, pid: int | None = None) -> None:
        super().__init__()
        self._pid = {} if pid is None else {"pid": pid}

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **self._pid,
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = _encoded(line)
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
