"""A server under measurement: pinned to a core, its CPU time and memory read from /proc."""

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

SERVER_CORE, OTHER_CORE = "0", "1"
BUSY = 0.01
"""Seconds of CPU in a tenth of a second, above which a process is doing something."""


def pinned(core: str, command: Sequence[str]) -> list[str]:
    """The command pinned to one core, where the machine can do that."""
    return ["taskset", "-c", core, *command] if shutil.which("taskset") else list(command)


class Measured:
    """A process and all of its child processes."""

    def __init__(
        self, command: Sequence[str], log: Path, core: str = SERVER_CORE, env: Mapping[str, str] | None = None
    ) -> None:
        self.began = time.perf_counter()
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(env or {})}  # byte code is kept, as for users
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                pinned(core, command), stdout=file, stderr=subprocess.STDOUT, env=environ, start_new_session=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def ready(self, url: str, seconds: float = 60) -> float:
        """Seconds from the start until it answers any request."""
        while time.perf_counter() - self.began < seconds and self.process.poll() is None:
            try:
                urllib.request.urlopen(url, timeout=1).close()
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break
        else:
            raise RuntimeError(f"no answer from {url}")
        return time.perf_counter() - self.began

    def quiet(self) -> None:
        """Wait until it has been idle for a second: what it loads in the background is loaded."""
        last, calm = self.cpu(), 0
        while calm < 10 and time.perf_counter() - self.began < 30:
            time.sleep(0.1)
            used, last = self.cpu() - last, self.cpu()
            calm = 0 if used > BUSY else calm + 1

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        stats = [stat for pid in self._tree() for stat in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(text.split()[0]) for text in map(_text, stats) if text) / 1e9

    def rss(self) -> float:
        """MB of memory."""
        lines = [line for pid in self._tree() for line in _text(Path(f"/proc/{pid}/status")).splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    def _tree(self) -> list[int]:
        found = [self.process.pid]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, _text(children).split())
        return found


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended
        return ""
