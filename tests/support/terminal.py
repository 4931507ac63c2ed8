"""Commands run on a pseudo-terminal, and what a person sees there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyte

from tests.wire.program import ROOT

_ROWS = 200
"""Lines that are kept: more than any one command prints."""
_OWNER: Final = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes the command, after it has made the terminal its own: only then Ctrl-C reaches it. Tests may run in the
background of a shell, which lets them ignore Ctrl-C; a person's shell does not."""


def surroundings(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without any setting of ours or about colours, then the given ones."""
    ours = ("AM_", "NO_COLOR", "FORCE_COLOR")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return mine | {"PYTHONPATH": str(ROOT)} | dict(extra or {})


class Terminal:
    """One command on a terminal of its own."""

    def __init__(self, master: int, process: subprocess.Popen[bytes], columns: int, rows: int) -> None:
        """Read from `master`, the side of the pseudo-terminal that a person looks at."""
        self.process = process
        self.raw = b""
        self._master = master
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def lines(self) -> list[str]:
        """What is to be seen, a line each, without the blanks at the end."""
        rows = self._screen.buffer  # the rows that were written to; `display` takes long, because it makes all others
        columns = range(self._screen.columns)
        written = range(max(rows, default=-1) + 1)
        lines = ["".join([rows[row][column].data for column in columns]).rstrip() for row in written]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.lines)

    def colours(self, word: str) -> set[str]:
        """The colours of the first place where `word` is to be seen."""
        for number, line in enumerate(self._screen.display):
            if (start := line.find(word)) >= 0:
                return {self._screen.buffer[number][column].fg for column in range(start, start + len(word))}
        raise AssertionError(f"{word!r} is not to be seen:\n{self.text}")

    def type(self, text: str) -> None:
        """What a person types: a line feed is the Enter key, the character 3 is Ctrl-C."""
        os.write(self._master, text.encode())

    def close(self) -> None:
        """Close the window, as a person does while the command runs."""
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), self._master)

    def wait_for(self, text: str, *, seconds: float = 30) -> None:
        """Read until `text` is to be seen."""
        deadline = time.monotonic() + seconds
        while text not in self.text:
            if time.monotonic() > deadline or not self._read(0.1):
                raise AssertionError(f"{text!r} is not to be seen:\n{self.text}")

    def wait(self, *, seconds: float = 30) -> int:
        """Read until the command ends; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(0.1):
            if time.monotonic() > deadline:
                raise AssertionError(f"the command has not ended:\n{self.text}")
        return self.process.wait(timeout=max(1, deadline - time.monotonic()))

    def _read(self, seconds: float) -> bool:
        """Whether more may come."""
        if not select.select([self._master], [], [], seconds)[0]:
            return self.process.poll() is None
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # Linux says so where the last program has closed the other side
            return False
        self.raw += piece
        self._stream.feed(piece)
        return bool(piece)


@contextmanager
def terminal(
    command: Sequence[str],
    *,
    folder: Path,
    columns: int = 80,
    rows: int = _ROWS,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """Run `command` on a terminal of so many columns; it is stopped when the block ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = surroundings({"TERM": "xterm-256color"} | dict(environ or {}))
    env.pop("COLUMNS", None)  # it would be believed more than the terminal
    owner = [sys.executable, "-IS", "-c", _OWNER]
    with subprocess.Popen([*owner, *command], cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        try:
            yield Terminal(master, process, columns, rows)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            os.close(master)
