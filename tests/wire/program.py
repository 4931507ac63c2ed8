"""Starts the program under test: `with serving(toml_text) as url: …`."""

import atexit
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from tests.wire.ports import give_back, listening

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = shlex.split(os.environ.get("SERVER") or f"{shlex.quote(sys.executable)} -m app")
"""The command of the program."""
_MOST_KEPT: Final = 8
"""Processes that stay for the next test with the same configuration."""
_PATIENCE: Final = 30
_PLACE: Final = tempfile.mkdtemp(prefix="wire-")
_DIRECT: Final = build_opener(ProxyHandler({}))


class ProgramError(Exception):
    """The program did not start, or ended by itself: a sentence with its last words."""


class Program:
    """A process of the program that answers at `url`."""

    def __init__(
        self,
        text: str,
        environ: Mapping[str, str] | None = None,
        *,
        flags: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        """`text` is its configuration, written in `folder`; `environ` is added to one without settings of ours."""
        with listening() as taken:
            self.port: int = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder or Path(tempfile.mkdtemp(dir=_PLACE))
        self._log = self.folder / "log"
        self.file = self.folder / "am-proxy.toml"
        self.file.write_text(text, encoding="utf-8")
        command = [*COMMAND, "serve", "--config", str(self.file), "--port", str(self.port), *flags]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AM_")}
        with self._log.open("wb") as log:
            try:
                self.process = subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={**inherited, **(environ or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise ProgramError(f"SERVER does not start: {shlex.join(COMMAND)}: {error}") from error
        self._wait()

    @property
    def log(self) -> str:
        """All that it has said, on both outputs."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def lines(self, message: str = "") -> list[dict[str, Any]]:
        """The lines of the log with these words in their message."""
        found = [json.loads(line) for line in self.log.splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in found if message in line["message"]]

    def turn(self, request_id: str = "") -> dict[str, Any]:
        """The line of a turn in its log. It may come after the answer."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if found := [line for line in self.lines("turn") if request_id in line.get("request_id", "")]:
                return found[0]
            time.sleep(0.02)
        raise ProgramError(f"no line of the turn {request_id}:\n{self._said()}")

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @contextmanager
    def alive(self) -> Iterator[None]:
        """A block that fails with a sentence if the program ends by itself."""
        try:
            yield
        finally:
            if (code := self.process.poll()) is not None:
                said = f"the server ended in the middle with exit code {code}; its last words:\n{self._said()}"
                raise ProgramError(said)

    def stop(self) -> int:
        """Ends it as a person does; its exit code."""
        self.process.terminate()
        code = self.process.wait(_PATIENCE)
        give_back(self.port)
        return code

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()
        give_back(self.port)

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            if (code := self.process.poll()) is not None:
                raise ProgramError(f"SERVER ended with exit code {code} instead of serving:\n{self._said()}")
            try:
                _DIRECT.open(f"{self.url}/health/live", timeout=5).close()
            except HTTPError:
                return
            except (URLError, OSError):
                if time.monotonic() > deadline:
                    self.kill()
                    raise ProgramError(f"SERVER does not answer after {_PATIENCE} s:\n{self._said()}") from None
                time.sleep(0.02)
            else:
                return

    def _said(self) -> str:
        return "\n".join(self.log.splitlines()[-15:]) or "(it said nothing)"


_kept: dict[str, Program] = {}
_failed: Final[dict[str, str]] = {}
"""Configurations with which it does not start: not tried again for each case."""
_users: Final = Counter[str]()
"""How many blocks use a process that is kept."""


@contextmanager
def own_program(text: str) -> Iterator[Program]:
    """A process of the test's own, to look at its log and its memory."""
    program = Program(text)
    try:
        with program.alive():
            yield program
    finally:
        program.kill()


@contextmanager
def serving(text: str = "", *, fresh: bool = False) -> Iterator[str]:
    """The address of a server with this configuration.

    Its process is kept for the next test that wants the same. `fresh`: a process of its own, for tests of what a server
    remembers (limits, breakers, metrics), which ends with the block.
    """
    if fresh:
        with own_program(text) as own:
            yield own.url
        return
    if text in _failed:
        raise ProgramError(_failed[text])
    program = _kept.pop(text, None)
    try:
        _kept[text] = program = program if program is not None and program.runs else Program(text)
    except ProgramError as error:
        _failed[text] = str(error)
        raise
    for idle in [each for each in _kept if each != text and not _users[each]][: max(len(_kept) - _MOST_KEPT, 0)]:
        _kept.pop(idle).kill()
    _users[text] += 1
    try:
        with program.alive():
            yield program.url
    finally:
        _users[text] -= 1


@atexit.register
def _end() -> None:
    for program in _kept.values():
        program.kill()
    shutil.rmtree(_PLACE, ignore_errors=True)
