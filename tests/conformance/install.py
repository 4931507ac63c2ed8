"""Fetches the clients into the cache folder, and prints which are not to be had: `python -m tests.conformance.install`.

Those of PyPI have an environment of their own: the `openai` they want and that of litellm exclude each other.
"""

import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tests.wire.program import COMMAND

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".cache"
NPM: Final = CACHE / "npm" / "node_modules"
PYTHON: Final = CACHE / "clients" / "bin" / "python"
PINS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("clients.toml").read_text())


def _node_package() -> str:
    """Node itself, as npm packages it for this machine."""
    system = platform.system().lower()
    return f"node-{system}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"


def _own_node_is_new_enough() -> bool:
    node = shutil.which("node")
    if node is None:
        return False
    content = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v(\d+)", content)
    return found is not None and int(found[1]) >= PINS["node"]["wanted"]


def node() -> Path:
    """The Node that runs the packages."""
    fetched = NPM / _node_package() / "bin" / "node"
    return fetched if fetched.is_file() else Path(shutil.which("node") or "node")


def npm_version(package: str) -> str | None:
    """What is there of a package."""
    result = NPM / package / "package.json"
    return str(json.loads(result.read_text())["version"]) if result.is_file() else None


def own_version(package: str = "am-proxy") -> str:
    """The version of this project, or of a package it runs on."""
    if package != "am-proxy":
        return version(package)
    said = subprocess.run([*COMMAND, "--version"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return said.split()[-1]


def fetch_npm(*names: str) -> None:
    """Fetch npm packages, unless they are there."""
    wanted: dict[str, str] = {name: PINS["npm"][name] for name in names or PINS["npm"]}
    if not names and not _own_node_is_new_enough():
        wanted[_node_package()] = PINS["node"]["version"]
    missing = [f"{name}@{pin}" for name, pin in wanted.items() if npm_version(name) != pin]
    if missing:
        NPM.parent.mkdir(parents=True, exist_ok=True)
        quiet = ("--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
        patience = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "install", *quiet, *patience, "--prefix", str(NPM.parent), *missing], check=True)


def fetch_pypi() -> None:
    """Fetch the Python clients, unless they are there."""
    wanted = [f"{name}=={pin}" for name, pin in PINS["pypi"].items()]
    stamp = CACHE / "clients" / "fetched.json"
    if stamp.is_file() and json.loads(stamp.read_text()) == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(CACHE / "clients")], check=True)
    subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", *wanted], check=True)
    stamp.write_text(json.dumps(wanted))


def fetch_what_is_to_be_had() -> None:
    """Each by itself, so that one that is missing keeps no other away."""
    each: dict[str, Callable[[], None]] = {f"npm:{name}": partial(fetch_npm, name) for name in PINS["npm"]}
    for name, fetch in {**each, "the Python clients": fetch_pypi}.items():
        try:
            fetch()
        except (OSError, subprocess.CalledProcessError):
            sys.stdout.write(f"not to be had: {name}\n")


if __name__ == "__main__":
    fetch_what_is_to_be_had()
