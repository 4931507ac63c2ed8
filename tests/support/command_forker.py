"""The program that forks processes for `am-proxy`: it loads the modules once, and every command has them at once.

It is started with the number of a socket. For each request, which is JSON and three streams, it answers with the number
of the new process, whose parent is the process that asked.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import termios
import threading
from contextlib import suppress
from typing import Any, NoReturn

import app.cli

_ALSO = ("app.main", "uvicorn.lifespan.off", "uvicorn.lifespan.on", "uvicorn.protocols.http.httptools_impl")
"""What a server loads later."""


def _load() -> None:
    for name in [f"app.cli.{module.name}" for module in pkgutil.iter_modules(app.cli.__path__)] + [*_ALSO]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _next(asking: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next request. Without one, this process ends."""
    text, streams, _, _ = socket.recv_fds(asking, 65_536, 3)
    while not text.endswith(b"\n"):
        if not text or not (piece := asking.recv(65_536)):
            os._exit(0)
        text += piece
    return json.loads(text), streams


def _forked(asking: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return only in new processes, each with its request."""
    while True:
        request, streams = _next(asking)
        between = os.fork()
        if not between:
            new = os.fork()
            if not new:
                return request, streams
            os._exit(0 if asking.send(b"%d " % new) else 1)
        os.waitpid(between, 0)  # now the parent of the new process is the one that asked
        asking.send(b"\n")
        for stream in streams:
            os.close(stream)


def _run(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be what `python -m app` would be, to its end."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 100)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    if request["own session"]:
        os.setsid()
    if request["owns terminal"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.path[0] = request["folder"]
    sys.argv = ["", *request["arguments"]]
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]  # what Python makes of it at a start
    try:
        runpy.run_module("app", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        _end(end.code or 0)
    _end(0)


def _end(code: int) -> NoReturn:
    """Do what Python does at its end, but do not take all modules apart: that takes longer than most commands."""
    getattr(threading, "_shutdown")()  # noqa: B009 — waits for threads; the stubs do not have it
    getattr(atexit, "_run_exitfuncs")()  # noqa: B009 — as above
    with suppress(OSError, ValueError):  # nobody reads any more: Python has words of its own for it
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    _load()
    _run(*_forked(socket.socket(fileno=int(sys.argv[1]))))
