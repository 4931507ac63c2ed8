"""The tests that failed run once more in the whole check: the few that a machine which stood still has failed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT

FAILS_AT_FIRST = """
from pathlib import Path
import pytest

def test_it():
    was_here = Path("was-here").exists()
    Path("was-here").touch()
    assert was_here

def test_other(): pass
"""
SKIPPED_THEN = FAILS_AT_FIRST.replace("    assert was_here", "    if was_here: pytest.skip()\n    assert 0")
CUT_SHORT = FAILS_AT_FIRST.replace("def test_other(): pass", "def test_other(): pytest.exit('cut')")
NO_MODULE = "import nothing_of_this_name"
FOUR = "\n".join(f"def test_{n}(): assert 0" for n in range(4))
RUNS: list[tuple[str, str, int, str]] = [
    ("it passes alone", FAILS_AT_FIRST, 0, "1 passed"),
    ("it fails again", "def test_it(): assert 0", 1, "1 failed"),
    ("it is skipped then", SKIPPED_THEN, 1, "1 skipped"),
    ("more than a few failed", FOUR, 1, ""),
    ("none failed", "def test_it(): pass", 1, ""),
    ("the run was cut short", CUT_SHORT, 1, ""),
    ("a file cannot be read", NO_MODULE, 1, ""),
]


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """The end of `python -m` with this command there."""
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = (sys.executable, "-m", *command)
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("tests", "status", "printed"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS])
def test_what_failed_is_run_once_more(tests: str, status: int, printed: str, tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(tests)
    run(tmp_path, "pytest", "-q", "-p", "tests.support.run_again")
    again = run(tmp_path, "tests.support.run_again")
    assert again.returncode == status
    assert printed in again.stdout
    assert bool(printed) == ("test_them.py::test_it" in again.stdout)


def test_failures_of_an_earlier_run_do_not_count(tmp_path: Path) -> None:
    for tests in (FAILS_AT_FIRST, CUT_SHORT):
        (tmp_path / "was-here").unlink(missing_ok=True)
        (tmp_path / "test_them.py").write_text(tests)
        run(tmp_path, "pytest", "-q", "-p", "tests.support.run_again")
    assert run(tmp_path, "tests.support.run_again").returncode == 1
