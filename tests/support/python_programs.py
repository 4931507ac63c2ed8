"""Programs of Python that use the `openai` package, run by Python itself.

To load that package takes most of a second. One process loads it, and each program runs in a fork of that process.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.running import surroundings

_RUNNER = """
import json, os, sys, tempfile, traceback
import openai, openai.resources.chat, openai.resources.responses
for line in sys.stdin:
    asked = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(asked["folder"])
                exec(compile(asked["program"], "<program>", "exec"), {"__name__": "__main__"})
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in (out, err):
            file.seek(0)
        print(json.dumps([code, out.read().decode(), err.read().decode()]), flush=True)
"""


class PythonPrograms:
    """What runs them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, program: str, folder: Path) -> str:
        """What the program prints. It must succeed, and cause no warning."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"program": program, "folder": str(folder)}) + "\n")
        stdin.flush()
        code, out, err = json.loads(stdout.readline())
        assert code == 0, err
        return str(out)


@contextmanager
def python_programs() -> Iterator[PythonPrograms]:
    """A process that runs them until the block ends."""
    command = [sys.executable, "-W", "error", "-c", _RUNNER]
    with subprocess.Popen(
        command, env=surroundings(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield PythonPrograms(process)
        finally:
            process.kill()
