"""The program as processes: `with started(folder, toml_text) as server: …`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.wire.script import counts, says, stops
from tests.wire.servers.steps import Step

COMMAND = [sys.executable, "-m", "app", "serve", "--config"]
_IGNORES = re.compile(r"^SigIgn:\s*\w*[13579bdf]$", re.MULTILINE)
"""The mask of ignored signals, whose last bit is that of SIGHUP."""
ANSWER: list[Step] = [says("Hi"), stops(), counts(1, 1)]


def soon(holds: Callable[[], object]) -> bool:
    """Whether it comes to hold, however busy this machine is."""
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(holds())


def config(url: str, *models: str, more: str = "") -> str:
    """These models behind one chat server; `more` comes before them."""
    tables = "".join(f'[models.{model}]\nupstream = "it"\n' for model in models or ["m"])
    return f'{more}\n[upstreams.it]\nbase_url = "{url}"\n{tables}'


class Server:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self.file = folder / "am-proxy.toml"
        self._log = folder / "log"
        self._told = False
        self.code = 0
        assert soon(lambda: self.lines("ready") or process.poll() is not None), self._log.read_text()
        self.url: str = self.lines("ready")[0]["url"]
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    @property
    def workers(self) -> list[int]:
        """The processes that serve: they ignore SIGHUP as soon as they have imported all."""
        found = []
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with suppress(OSError):  # it has ended
                if _IGNORES.search(Path(f"/proc/{pid}/status").read_text()):
                    found.append(int(pid))
        return found

    def lines(self, message: str = "") -> list[dict[str, Any]]:
        """The lines of the log with these words in their message."""
        found = [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]
        return [line for line in found if message in line["message"]]

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Tells it to end, once."""
        if not self._told:
            self.process.send_signal(number)
        self._told = True

    def reload(self, text: str) -> list[str]:
        """Writes other settings, and says so; what the log says of it."""
        before = len(self.lines("configuration"))
        self.file.write_text(text)
        self.process.send_signal(signal.SIGHUP)
        assert soon(lambda: len(self.lines("configuration")) > before)
        return [line["message"] for line in self.lines("configuration")[before:]]

    def ask(self, model: str = "m", **body: Any) -> str:
        """What the model says over a connection of its own, or the code of the error."""
        answer = httpx.post(f"{self.url}/responses", json={"model": model, "input": "Hi", **body}, timeout=30).json()
        return str(answer["output"][-1]["content"][0]["text"] if answer.get("output") else answer["error"]["code"])


@contextmanager
def started(folder: Path, text: str = "", *flags: str, environ: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server with this configuration on a free port. At the end it is told to stop, and ends with `code`."""
    (folder / "am-proxy.toml").write_text(text)
    command = [*COMMAND, str(folder / "am-proxy.toml"), "--port", "0", *flags]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AM_")}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, env={**inherited, "TMPDIR": str(folder), **(environ or {})}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            server = Server(process, folder)
            if "--workers" in flags:
                assert soon(lambda: len(server.workers) == 2), (folder / "log").read_text()
            yield server
            server.stop()
            ended = process.wait(30)
            assert ended == server.code, (folder / "log").read_text()
        finally:
            process.kill()


@contextmanager
def streams(server: Server, number: int = 1) -> Iterator[list[Iterator[str]]]:
    """The lines of so many answers that have begun, each over a connection of its own."""
    body = {"model": "m", "input": "Hi", "stream": True}
    with ExitStack() as stack:
        opened = []
        for _ in range(number):
            answer = stack.enter_context(httpx.stream("POST", f"{server.url}/responses", json=body, timeout=30))
            opened.append(answer.iter_lines())
            assert any("output_text.delta" in line for line in opened[-1])
        yield opened


def last(lines: Iterator[str]) -> str:
    """The type of the last event."""
    return [line for line in lines if line.startswith("event: ")][-1].removeprefix("event: ")
