"""Runs the few tests that failed once more, one after another: `python -m tests.support.run_again`, after `make test`.

A virtual machine may stand still for a second, and then a test that measures seconds fails. Both results are printed.
Only a run that came to its end counts, and if more than a few tests failed, that was not the machine.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

MOST = 3
_FOLDER = Path(".pytest_cache/v")
_FAILED = _FOLDER / "cache/lastfailed"
_STATUS = "run_again/status"
"""How the last run ended, in pytest's cache."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Part of tests/conftest.py: forgets the status of an earlier run."""
    _keep(session.config, None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Part of tests/conftest.py: keeps the status."""
    _keep(session.config, int(exitstatus))


def _keep(config: pytest.Config, status: int | None) -> None:
    if not hasattr(config, "workerinput"):
        config.cache.set(_STATUS, status)


class _Passed:
    """The tests that passed."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One step of a test has ended."""
        if report.when == "call" and report.passed:
            self.names.add(report.nodeid)
        elif report.failed:
            self.names.discard(report.nodeid)


def main() -> int:
    """0 if those that failed in the last run pass now."""
    if not _FAILED.exists() or _read(_FOLDER / _STATUS) != pytest.ExitCode.TESTS_FAILED:
        return 1
    failed = sorted(_read(_FAILED))
    if not 0 < len(failed) <= MOST:
        return 1
    why = "because they failed (what needs this more than once is to be mended)"
    sys.stdout.write("\n  ".join([f"\nRun once more, alone, {why}:", *failed]) + "\n")
    sys.stdout.flush()
    passed = _Passed()
    status = pytest.main(["--last-failed", "--last-failed-no-failures=none"], plugins=[passed])
    return 0 if status == pytest.ExitCode.OK and passed.names >= set(failed) else 1


def _read(file: Path) -> Any:
    return json.loads(file.read_text()) if file.exists() else None


if __name__ == "__main__":
    sys.exit(main())
