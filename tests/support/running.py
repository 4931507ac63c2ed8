"""The real command, run as a person runs it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

ROOT = Path(__file__).parents[2]
COMMAND: Final = [sys.executable, "-m", "app"]


class Running(NamedTuple):
    """A server that answers."""

    url: str
    banner: str
    process: subprocess.Popen[str]

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.terminate()
        return self.process.wait(timeout=15)


def surroundings(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without any setting of ours or about colours, then the given ones."""
    ours = ("AM_", "NO_COLOR", "FORCE_COLOR")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return mine | {"PYTHONPATH": str(ROOT)} | dict(extra or {})


def run(*arguments: str, folder: Path, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """One command, to its end."""
    return ended([*COMMAND, *arguments], folder=folder, environ=surroundings(environ))


def ended(
    command: Sequence[str], *, folder: Path, environ: Mapping[str, str], given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Any command, to its end."""
    pipe = subprocess.PIPE
    stdin = None if given is None else pipe
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdin=stdin, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            out, err = process.communicate(given, timeout=60)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def running(
    *flags: str, folder: Path, environ: Mapping[str, str] | None = None, log: int | IO[str] = subprocess.DEVNULL
) -> Iterator[Running]:
    """`am-proxy serve` on a free port, until the block ends."""
    command = [*COMMAND, "serve", "--port", "0", *flags]
    with started(command, folder=folder, environ=surroundings(environ), log=log) as server:
        yield server


@contextmanager
def started(
    command: Sequence[str], *, folder: Path, environ: Mapping[str, str], log: int | IO[str] = subprocess.DEVNULL
) -> Iterator[Running]:
    """A command that starts a server, until the block ends."""
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            yield Running(*_read(process), process)
        finally:
            process.terminate()


def _read(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The banner's URL and its whole text."""
    assert process.stdout is not None
    banner = ""
    while not banner.endswith("\n\n") or "or with an OpenAI SDK" not in banner:
        line = process.stdout.readline()
        assert line, f"it ended with {process.wait()} after saying {banner!r}"
        banner += line
    found = re.search(r"ready: (http://\S+)", banner)
    assert found
    return found[1], banner
