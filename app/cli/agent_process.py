"""Runs a coding agent on this terminal until it ends, as a shell does: signals, exit code and the terminal's state."""

import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NamedTuple, Self

FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that are passed on. A terminal sends SIGINT to the agent itself, so that is only passed on without one."""
_BY_SIGNAL: Final = 128
"""Added to the number of the signal that ended a program, as shells do."""
_VERSION_WITHIN: Final = 20
_LONGEST_LINE: Final = 200
_VERSION: Final = re.compile(r"\d{1,9}(?:\.\d{1,9}){1,3}")
_USUAL_SCREEN: Final = (
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[0m"
)
"""Leaves the second screen; shows the cursor; no reports of mouse, focus and pasting; usual keys and colours."""


class Reported(NamedTuple):
    """What a program says about itself."""

    version: tuple[int, ...] | None = None
    """None: it does not say."""
    trouble: str = ""
    """Why it does not run, as a part of a sentence."""


def version_of(program: str) -> Reported:
    """Ask a program for its version."""
    try:
        ran = subprocess.run(  # noqa: S603 — the program that the user asked for
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_WITHIN,
            check=False,
        )
    except OSError as error:
        return Reported(trouble=f"{program} does not start: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Reported()
    if ran.returncode:
        said = next((line.strip() for line in ran.stderr.splitlines() if line.strip()), "")
        shown = "".join(letter for letter in said[:_LONGEST_LINE] if letter.isprintable())
        return Reported(trouble=f"{program} does not run: {shown or f'exit code {ran.returncode}'}")
    found = _VERSION.search(ran.stdout)
    return Reported(tuple(int(number) for number in found[0].split(".")) if found else None)


def run_agent(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run it to its end; its exit code, or 128 and the signal that ended it. Raises `OSError` if it cannot start."""
    with _terminal_kept() as broken, _Forwarding() as forwarding:
        process = subprocess.Popen(command, env=environ)  # noqa: S603 — as above
        forwarding.start(process.pid)
        code = process.returncode = _wait(process.pid)
        forwarding.end()
        if code < 0:
            broken.append(True)
            return _BY_SIGNAL - code
        return code


def _wait(pid: int) -> int:
    """Wait until it ends. When it is suspended, this program suspends itself, so that the shell comes back."""
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


class _Forwarding:
    """Passes signals on to one program; those that come before it has started are passed on then."""

    def __init__(self) -> None:
        self._attached = _has_terminal()
        self._pid: int | None = None
        self._early: list[int] = []

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._forward) for number in (*FORWARDED, signal.SIGINT)}
        self._before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._suspend)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def start(self, pid: int) -> None:
        """The program has started."""
        self._pid = pid
        for number in self._early:
            self._forward(number, None)

    def end(self) -> None:
        """The program has ended; another one may get its number."""
        self._pid = None
        self._early.clear()

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._pid is None:
            self._early.append(number)
        elif number != signal.SIGINT or not self._attached:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _suspend(self, _number: int, _frame: FrameType | None) -> None:
        """The terminal suspends the program, too: `_wait` follows it. To stop here as well would be once too often."""
        if self._pid is None:
            os.kill(os.getpid(), signal.SIGSTOP)


def _has_terminal() -> bool:
    """Whether this process belongs to a terminal, which sends Ctrl-C to every program in front of it."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


@contextmanager
def _terminal_kept() -> Iterator[list[bool]]:
    """Give the terminal back as it was. With anything in the list, its screen is reset too."""
    broken: list[bool] = []
    try:
        before = termios.tcgetattr(0)
    except (OSError, termios.error):
        yield broken
        return
    try:
        yield broken
    finally:
        ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it would stop this process, if it is not in front
        with suppress(OSError, termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)
            if broken and sys.__stdout__ is not None and sys.__stdout__.isatty():
                sys.__stdout__.write(_USUAL_SCREEN)
                sys.__stdout__.flush()
        signal.signal(signal.SIGTTOU, ignored)
