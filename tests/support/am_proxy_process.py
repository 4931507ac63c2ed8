"""`am-proxy` as a process: like `subprocess.Popen`, and started in a tenth of the time where nobody can tell."""

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

_OWNER: Final = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes the command, after it has made the terminal its own: only then Ctrl-C reaches it. Tests may run in the
background of a shell, which lets them ignore Ctrl-C; a person's shell does not."""
_ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = [sys.executable, "-m", "app"]
_READ_AT_START: Final = ("PYTHON", "LANG", "LC_", "COVERAGE_")
"""How variables begin that Python itself, or the measurement of coverage, reads when a process starts."""
_ADOPT_ORPHANS: Final = 36
"""Linux calls it PR_SET_CHILD_SUBREAPER."""
_one_at_a_time: Final = Lock()


class AmProxyProcess(subprocess.Popen[Any]):
    """A process that runs a command line. `am-proxy` is forked from a process that has loaded its modules already."""

    def __init__(self, command: Sequence[str], *, owns_terminal: bool = False, **how: Any) -> None:
        self._owns_terminal = owns_terminal
        self._own_session = owns_terminal or how.get("start_new_session", False)
        self._forked = _can_be_forked(command, how.get("env"))
        owner = [sys.executable, "-IS", "-c", _OWNER] if owns_terminal and not self._forked else []
        super().__init__([*owner, *command], **how)

    def _execute_child(self, *how: Any) -> None:
        """What `Popen` starts the program with, after it has made the pipes."""
        command, _, _, _, _, folder, environ, _, _, _, *pipes = how[:16]
        if not self._forked:
            getattr(super(), "_execute_child")(*how)  # noqa: B009 — the stubs do not have it
            return
        request = {
            "arguments": command[len(COMMAND) :],
            "folder": str(folder or Path.cwd()),
            "environ": dict(environ),
            "own session": self._own_session,
            "owns terminal": self._owns_terminal,
        }
        theirs = [pipes[0], pipes[3], pipes[5]]
        self.pid = _fork(request, [usual if given == -1 else given for usual, given in enumerate(theirs)])
        self._child_created = True
        getattr(self, "_close_pipe_fds")(*pipes)  # noqa: B009 — as above


def _can_be_forked(command: Sequence[str], environ: Mapping[str, str] | None) -> bool:
    """Whether the new process would be like this one: Python reads some variables only when it starts."""
    if sys.platform != "linux" or list(command[: len(COMMAND)]) != COMMAND or environ is None:
        return False
    return _read_at_start(environ) == _read_at_start(_environ())


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_READ_AT_START)}


def _environ() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(_ROOT)}


@cache
def _forker() -> socket.socket:
    """The process that forks, for all tests of this one."""
    here, there = socket.socketpair()
    with there:
        command = [sys.executable, "-m", "tests.support.command_forker", str(there.fileno())]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=_ROOT, env=_environ(), stdin=pipe, stdout=pipe, pass_fds=[there.fileno()]
        )

    def end() -> None:
        here.close()
        process.communicate()

    atexit.register(end)
    return here


def _fork(request: dict[str, Any], streams: list[int]) -> int:
    """The number of the new process, a child of this one."""
    with _one_at_a_time:
        forker, control = _forker(), ctypes.CDLL(None).prctl
        control(_ADOPT_ORPHANS, 1, 0, 0, 0)
        try:
            text = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(forker, [text[:60_000]], streams)
            forker.sendall(text[sent:])
            answer = b""
            while not answer.endswith(b"\n"):
                piece = forker.recv(100)
                assert piece, "the process that forks has ended"
                answer += piece
        finally:
            control(_ADOPT_ORPHANS, 0, 0, 0, 0)
    return int(answer)
