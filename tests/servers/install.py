"""Installs the model servers and writes the tiny models into the cache folder: `python -m tests.servers.install`.

Packages are named only: they come from wherever pip of this machine gets packages.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.conformance.install import CACHE
from tests.servers import checkpoint, gguf

FOLDER: Final = CACHE / "servers"
PINS: Final[dict[str, dict[str, list[str]]]] = tomllib.loads(Path(__file__).with_name("servers.toml").read_text())
GGUF: Final = FOLDER / "models" / "tiny.gguf"
CHECKPOINT: Final = FOLDER / "models" / "tiny"

_REQUIREMENTS: Final = """
import importlib.metadata, json, sys
print(json.dumps(importlib.metadata.requires(sys.argv[1]) or []))
"""


class NotThereError(Exception):
    """A server cannot be had here. The text says why."""


def python(environment: str) -> Path:
    """The Python of a server's environment."""
    return FOLDER / environment / "bin" / "python"


def version(environment: str, package: str) -> str:
    """The version of a package in an environment."""
    wanted = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run(
        [python(environment), "-c", wanted], capture_output=True, text=True, check=True
    ).stdout.strip()


def _pip(environment: str, *arguments: str) -> None:
    command = [str(python(environment)), "-m", "pip", "install", "--quiet", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or [ended.stderr]
        raise NotThereError(f"pip cannot install {', '.join(arguments)}: {lines[-1]}")


def is_installed(environment: str) -> bool:
    """Whether the environment has the pinned packages."""
    stamp = FOLDER / environment / "installed.json"
    return stamp.is_file() and json.loads(stamp.read_text()) == PINS[environment]


def install(environment: str) -> None:
    """Make an environment, unless it is there."""
    if is_installed(environment):
        return
    shutil.rmtree(FOLDER / environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER / environment)], check=True)
    if environment == "vllm":
        _install_vllm(environment)
    else:
        _pip(environment, *PINS[environment]["packages"])
    (FOLDER / environment / "installed.json").write_text(json.dumps(PINS[environment]))


def _install_vllm(environment: str) -> None:
    """VLLM without the packages that refuse its own torch, and under the name by which it looks up its version."""
    own, *others = PINS[environment]["packages"]
    _pip(environment, "--no-deps", own)
    package, _, number = own.partition("==")
    command = [str(python(environment)), "-c", _REQUIREMENTS, package]
    wanted = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    _pip(environment, *_needed(wanted, PINS[environment]["not_needed"]), *others)
    found = next((FOLDER / environment).glob(f"lib/*/site-packages/{package.replace('-', '_')}-*.dist-info"))
    alias = found.with_name(f"vllm-{number}+cpu.dist-info")
    alias.mkdir(exist_ok=True)
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}+cpu\n")


def _needed(wanted: Sequence[str], not_needed: Sequence[str]) -> list[str]:
    names = {line: re.split(r"[^\w.-]", line)[0].lower() for line in wanted}
    return [line for line, name in names.items() if "extra ==" not in line and name not in not_needed]


def write_models() -> None:
    """Write the tiny model's files, unless they are there: a server may be reading them."""
    GGUF.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=GGUF.parent) as name:
        folder = Path(name)
        gguf.write(folder / GGUF.name)
        checkpoint.write(folder)
        for file in folder.iterdir():
            place = GGUF if file.name == GGUF.name else CHECKPOINT / file.name
            place.parent.mkdir(exist_ok=True)
            if not place.is_file() or place.read_bytes() != file.read_bytes():
                file.replace(place)


def install_all() -> dict[str, str]:
    """Make all environments; those that cannot be had, with the reason."""
    missing: dict[str, str] = {}
    for environment in PINS:
        try:
            install(environment)
        except NotThereError as error:
            missing[environment] = str(error)
    write_models()
    return missing


if __name__ == "__main__":
    for skipped, reason in install_all().items():
        sys.stdout.write(f"{skipped} is skipped: {reason}\n")
