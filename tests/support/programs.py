"""Programs that not every machine has: `pytest.mark.needs("chromium")` names those of a test."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.chromium import CHROMIUM
from tests.support.node import ROOT, folder_with

_INSTALLED: Final = {
    "the Python clients": ROOT / ".cache" / "clients" / "fetched.json",
    "llama.cpp": ROOT / ".cache" / "llama.cpp" / "fetched.json",
}
"""What `make programs` has left where it has installed these."""


def interpreter(version: str) -> Path | None:
    """A Python of this machine that is as old as this, and runs."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    for python in (folder / f"python{version}" for folder in folders):
        if python.exists() and not subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
            return python
    return None


@cache
def is_there(program: str) -> bool:
    """Whether this machine has a program. `npm:` begins the name of a package for Node."""
    kind, _, name = program.rpartition(":")
    if kind == "npm":
        return folder_with(name) is not None
    if program.startswith("python"):
        return interpreter(program.removeprefix("python")) is not None
    if program in _INSTALLED:
        return _INSTALLED[program].is_file()
    return (CHROMIUM if program == "chromium" else shutil.which(program)) is not None
