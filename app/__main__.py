"""`am-proxy`: the command line.

Any Python 3 can read this file and what it imports first, so that one which is too old, or has not the packages that
AM Proxy needs, says so in a sentence.
"""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

_OLDEST = (3, 11)
_HERE = Path(__file__).parents[1]
"""The checkout, or the folder of installed packages."""


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run one command. Returns its exit code: 0 success, 1 failure, 2 wrong configuration or flags."""
    if sys.version_info < _OLDEST:
        found = "{}.{}".format(*sys.version_info[:2])
        return _unusable("needs Python {}.{} or newer, and this is {found}".format(*_OLDEST, found=found))
    collects = gc.isenabled()
    gc.disable()  # what is loaded is no garbage, and to look for some took a tenth of a start; a running server does
    try:
        from .cli.commands import run  # noqa: PLC0415 — an older Python could not read it

        return run(arguments)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in {"", __package__}:
            raise
        return _unusable(f"needs the package {package}, which is not installed for {sys.executable}")
    finally:
        if collects:
            gc.enable()


def _unusable(reason: str) -> int:
    """Say why this Python cannot run it, and what can."""
    command = _HERE / ".venv" / "bin" / "am-proxy"
    if command.exists():
        advice = f"Run {command} instead."
    elif (_HERE / "Makefile").exists():
        advice = f"Run `make serve` in {_HERE} once, then {command}."
    else:
        advice = "Install it again, with its dependencies."
    print(f"am-proxy {reason}. {advice}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
