"""The program as processes: `with started(folder, toml_text) as server: …`."""

import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.wire.program import Program
from tests.wire.script import counts, says, stops
from tests.wire.servers.steps import Step

_IGNORES = re.compile(r"^SigIgn:\s*\w*[13579bdf]$", re.MULTILINE)
"""The mask of ignored signals, whose last bit is that of SIGHUP."""
ANSWER: list[Step] = [says("Hi"), stops(), counts(1, 1)]


def soon(holds: Callable[[], object]) -> bool:
    """Whether it comes to hold, however busy this machine is."""
    deadline = time.monotonic() + 50
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(holds())


def config(url: str, *models: str, more: str = "") -> str:
    """These models behind one chat server; `more` comes before them."""
    tables = "".join(f'[models.{model}]\nupstream = "it"\n' for model in models or ["m"])
    return f'{more}\n[upstreams.it]\nbase_url = "{url}"\n{tables}'


class Server(Program):
    """A server that runs; `url` ends with /v1."""

    def __init__(self, folder: Path, text: str, flags: Sequence[str], environ: Mapping[str, str]) -> None:
        super().__init__(text, {"TMPDIR": str(folder), **environ}, flags=flags, folder=folder)
        self.url += "/v1"
        self._told = False
        self.code = 0

    @property
    def workers(self) -> list[int]:
        """The processes that serve: they ignore SIGHUP as soon as they have imported all."""
        found = []
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with suppress(OSError):  # it has ended
                if _IGNORES.search(Path(f"/proc/{pid}/status").read_text()):
                    found.append(int(pid))
        return found

    def tell(self, number: int = signal.SIGTERM) -> None:
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
    server = Server(folder, text, flags, environ or {})
    try:
        if "--workers" in flags:
            assert soon(lambda: len(server.workers) == 2), server.log
        yield server
        server.tell()
        assert server.process.wait(30) == server.code, server.log
    finally:
        server.kill()


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
