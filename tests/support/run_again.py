"""Runs the few tests that failed once more, one after another: `python -m tests.support.run_again`, after `make test`.

A virtual machine may stand still for a second, and then a test that measures seconds fails. Both results are printed.
If more than a few failed, that was not the machine.
"""

import json
import sys
from pathlib import Path

import pytest

MOST = 3
_KEPT = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """0 if those that failed in the last run pass now."""
    failed = sorted(json.loads(_KEPT.read_text())) if _KEPT.exists() else []
    if not 0 < len(failed) <= MOST:
        return 1
    why = "because they failed (what needs this more than once is to be mended)"
    sys.stdout.write("\n  ".join([f"\nRun once more, alone, {why}:", *failed]) + "\n")
    sys.stdout.flush()
    return pytest.main(["--last-failed", "--last-failed-no-failures=none"])


if __name__ == "__main__":
    sys.exit(main())
