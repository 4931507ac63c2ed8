"""Fetches the clients into the cache folder, and prints which are not to be had: `python -m tests.support.install`.

Those of PyPI have an environment of their own: the `openai` they want and that of litellm exclude each other. So has
llama.cpp, which not every machine can have.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
NPM: Final = ROOT / ".cache" / "npm"
CLIENTS: Final = ROOT / ".cache" / "clients"
PYTHON: Final = CLIENTS / "bin" / "python"
LLAMA_CPP: Final = ROOT / ".cache" / "llama.cpp"
_PINS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("clients.toml").read_text())


def _run(name: str, *commands: Sequence[str]) -> bool:
    """Whether the commands did what they are to. One client that is missing keeps no other away."""
    try:
        for command in commands:
            subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.stdout.write(f"not to be had: {name}\n")
        return False
    return True


def _fetch_npm(name: str, pin: str) -> None:
    held = NPM / "node_modules" / name / "package.json"
    if held.is_file() and json.loads(held.read_text())["version"] == pin:
        return
    NPM.mkdir(parents=True, exist_ok=True)
    quiet = ("--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
    patience = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    _run(f"npm:{name}", ["npm", "install", *quiet, *patience, "--prefix", str(NPM), f"{name}@{pin}"])


def _fetch_pypi(title: str, folder: Path, pins: dict[str, str]) -> None:
    wanted = [f"{name}=={pin}" for name, pin in pins.items()]
    stamp = folder / "fetched.json"
    if stamp.is_file() and json.loads(stamp.read_text()) == wanted:
        return
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *wanted]
    if _run(title, [sys.executable, "-m", "venv", str(folder)], install):
        stamp.write_text(json.dumps(wanted))


if __name__ == "__main__":
    for package, version in _PINS["npm"].items():
        _fetch_npm(package, version)
    _fetch_pypi("the Python clients", CLIENTS, _PINS["pypi"])
    _fetch_pypi("llama.cpp", LLAMA_CPP, _PINS["llama.cpp"])
