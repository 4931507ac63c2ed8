"""The tests that failed run once more in the whole check: the few that a machine which stood still has failed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import ROOT

FAILS_AT_FIRST = """
from pathlib import Path

def test_it():
    was_here = Path("was-here").exists()
    Path("was-here").touch()
    assert was_here
"""
RUNS: list[tuple[str, str, int, str]] = [
    ("it passes alone", FAILS_AT_FIRST + "\n\ndef test_other(): pass\n", 0, "1 passed"),
    ("it fails again", "def test_it(): assert 0", 1, "1 failed"),
    ("more than a few failed", "\n".join(f"def test_{n}(): assert 0" for n in range(4)), 1, ""),
    ("none failed", "def test_it(): pass", 1, ""),
]


@pytest.mark.parametrize(("tests", "status", "printed"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS])
def test_what_failed_is_run_once_more(tests: str, status: int, printed: str, tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(tests)
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m"]
    subprocess.run([*command, "pytest", "-q"], cwd=tmp_path, env=environ, capture_output=True, check=False)
    again = subprocess.run(
        [*command, "tests.support.run_again"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert again.returncode == status
    assert printed in again.stdout
    assert bool(printed) == ("test_them.py::test_it" in again.stdout)
