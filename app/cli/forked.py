"""Processes that are forked from this one, which has no thread and no event loop."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
CRASHED: Final = 70
"""The exit code after an error that nothing else has reported."""


def fork(work: Callable[[], int]) -> int:
    """The number of a new process, which does this work and ends with the exit code that it returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = CRASHED
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        code = work()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else CRASHED
    except BaseException:  # noqa: BLE001 — the process must end here, whatever happened
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
