"""A server under measurement: started, pinned to a core, its CPU and memory read from /proc."""

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

SERVER_CORE = "0"
OTHER_CORE = "1"
BUSY = 0.01
"""Seconds of CPU in a tenth of a second, above which a process is doing something."""
CALM = 1.0
"""Seconds without any such tenth, after which it is done."""


def pinned(core: str, command: Sequence[str]) -> list[str]:
    """The command pinned to one core, if the machine supports that."""
    return ["taskset", "-c", core, *command] if shutil.which("taskset") else list(command)


class Measured:
    """A process and all of its child processes."""

    def __init__(
        self, command: Sequence[str], *, core: str = SERVER_CORE, env: Mapping[str, str] | None = None, log: Path
    ) -> None:
        self.began = time.perf_counter()
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                pinned(core, command),
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(env or {})},  # byte code is kept, as for users
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is not None:
            return
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ready(self, url: str, seconds: float = 60) -> float:
        """Seconds from the start until it answers any request."""
        while time.perf_counter() - self.began < seconds:
            try:
                urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 — a local address
            except urllib.error.HTTPError:
                return time.perf_counter() - self.began
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
            else:
                return time.perf_counter() - self.began
        message = f"no answer from {url}"
        raise RuntimeError(message)

    def quiet(self, seconds: float = 30) -> float:
        """Seconds from the start until it is idle: everything that it loads in the background is loaded."""
        last = self.cpu()
        since = time.perf_counter()
        while time.perf_counter() - self.began < seconds:
            time.sleep(0.1)
            used, last = self.cpu() - last, self.cpu()
            if used > BUSY:
                since = time.perf_counter()
            elif time.perf_counter() - since > CALM:
                break
        return since - self.began

    def cpu(self) -> float:
        """Seconds of CPU time so far, of the whole process tree."""
        return sum(_cpu(pid) for pid in self._tree())

    def cpus(self) -> dict[int, float]:
        """The same of each process by its number."""
        return {pid: _cpu(pid) for pid in self._tree()}

    def pss(self) -> float:
        """MB of memory, of the whole process tree; what several processes share counts once."""
        files = [Path(f"/proc/{pid}/smaps_rollup") for pid in self._tree()]
        lines = [line for file in files for line in file.read_text().splitlines() if line.startswith("Pss:")]
        return sum(int(line.split()[1]) for line in lines) / 1024

    def rss(self) -> float:
        """MB of memory, of the whole process tree."""
        return sum(_status(pid, "VmRSS") for pid in self._tree()) / 1024

    def peak(self) -> float:
        """The highest memory so far, or since `forget_peak`."""
        return sum(_status(pid, "VmHWM") for pid in self._tree()) / 1024

    def forget_peak(self) -> None:
        """Begins to look for the highest memory anew."""
        for pid in self._tree():
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def _tree(self) -> list[int]:
        found = [self.process.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    found += [int(child) for child in task.read_text().split()]
                except OSError:
                    continue
        return found


def _cpu(pid: int) -> float:
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[0])
        except (OSError, IndexError):
            continue
    return total / 1e9


def _status(pid: int, field: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)
