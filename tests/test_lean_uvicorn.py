"""uvicorn is whole for other programs in the process, although its command line is loaded late."""

import subprocess
import sys

import pytest

from tests.support.running import ROOT

PROGRAM = """
import sys
from app.lean_uvicorn import put_off
put_off()
import uvicorn
from uvicorn import Config, Server, main, run
from uvicorn.main import Server as same
assert Server is same and "click" not in sys.modules
%s
assert "click" in sys.modules
from uvicorn.main import Server as again
assert Server is again and uvicorn.main.__class__.__name__ == "Command"
"""
USES = {
    "the command": ("main(['--help'], standalone_mode=False)", "Usage: -c [OPTIONS] APP"),
    "a server": ("try: run('nowhere:app')\nexcept SystemExit as end: print(end.code)", "3"),
    "the module": ("from uvicorn.main import LEVEL_CHOICES; print(LEVEL_CHOICES.name)", "choice"),
}


@pytest.mark.parametrize(("use", "says"), USES.values(), ids=USES)
def test_the_command_line_is_loaded_when_it_is_used(use: str, says: str) -> None:
    code, printed = _run(PROGRAM % use)
    assert (code, says in printed) == (0, True)


def test_what_was_imported_before_is_left_as_it_is() -> None:
    program = (
        "import sys, uvicorn.main; first = sys.modules['uvicorn.main']; "
        "from app.lean_uvicorn import put_off; put_off(); print(first is sys.modules['uvicorn.main'])"
    )
    assert _run(program) == (0, "True\n")


def _run(program: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout
