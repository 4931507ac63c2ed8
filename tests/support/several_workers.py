"""`am-proxy serve` with several workers, as the processes that it is."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.running import COMMAND, surroundings

LONG = {"model": "demo", "input": "slow", "stream": True}
SHORT = LONG | {"text": {"format": {"type": "json_object"}}}
"""Slow too, but of a few words: somebody waits for its end."""


MOST_CLIENTS = 16


class Workers:
    """The supervisor and its workers."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        self.ready: dict[str, Any] = json.loads(line)
        self.url: str = self.ready["url"]

    @property
    def pids(self) -> list[int]:
        """The worker processes that run now."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in found]

    def lines(self, message: str = "") -> list[dict[str, Any]]:
        """The lines of the log with these words in their message."""
        found = [json.loads(line) for line in self._log.read_text().splitlines()]
        return [line for line in found if message in line["message"]]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The lines of the log about turns that have ended."""
        return [line for line in self.lines("turn") if line["message"] == "turn"]

    def ask(self, model: str = "demo", text: str = "Hi") -> str:
        """The status of a response over a connection of its own, or the code of the error."""
        answer = httpx.post(f"{self.url}/responses", json={"model": model, "input": text}, timeout=20).json()
        return str(answer["status"] if answer.get("object") == "response" else answer["error"]["code"])

    def asked_all(self) -> set[int]:
        """Ask over more and more connections until each worker has answered; the workers that did."""
        before, found = len(self.turns), set[int]()
        with ExitStack() as stack:
            for asked in range(
                before + 1, before + 1 + MOST_CLIENTS
            ):  # a worker without any processor time is not the first to accept
                client = stack.enter_context(httpx.Client())
                body = {"model": "demo", "input": "Hi"}
                assert client.post(f"{self.url}/responses", json=body, timeout=20).status_code == 200
                while len(self.turns) < asked:  # the line is written in a moment
                    time.sleep(0.01)
                found = {line["pid"] for line in self.turns[before:]}
                if found >= set(self.pids):
                    break
        return found

    def stop(self, seconds: float = 20) -> int:
        """Stop all; the exit code."""
        self.process.terminate()
        return self.process.wait(seconds)


def soon(holds: Callable[[], object], seconds: float = 20) -> bool:
    """Whether it comes to hold, however busy this machine is."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(holds())


@contextmanager
def several_workers(
    folder: Path, *flags: str, count: int | str = 2, environ: Mapping[str, str] | None = None, program: str = ""
) -> Iterator[Workers]:
    """So many workers on a free port, until the block ends. `program` is Python that runs before the command."""
    log = folder / "log"
    start = ["-c", f"{program}\nfrom app.__main__ import main\nraise SystemExit(main())"]
    program_of = [sys.executable, *start] if program else COMMAND
    command = [*program_of, "serve", "--port", "0", "--log-format", "json", "--workers", str(count), *flags]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, cwd=folder, env=surroundings(environ), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            yield Workers(process, log)
        finally:
            process.kill()  # the workers end with it


@contextmanager
def streams(server: Workers, number: int, body: Mapping[str, object] = SHORT) -> Iterator[list[Iterator[str]]]:
    """So many answers that are streamed, each over a connection of its own."""
    with ExitStack() as stack:
        opened = []
        for _ in range(number):
            answer = stack.enter_context(httpx.stream("POST", f"{server.url}/responses", json=body, timeout=20))
            lines = answer.iter_lines()
            next(lines)
            opened.append(lines)
        yield opened
