"""The package as people install it: built, installed into an environment of its own, and run there."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.running import ROOT

OURS = sysconfig.get_path("purelib")
"""Where the packages of this environment are."""


def build(target: str, folder: Path, *, source: Path = ROOT, environ: Mapping[str, str] | None = None) -> Path:
    """The wheel or the sdist of a checkout or of an unpacked sdist."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    env = {**os.environ, "PROJECT_URL": "", **(environ or {})}
    built = subprocess.run(command, cwd=source, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert built.returncode == 0, built.stderr
    [package] = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return package


class Environment(NamedTuple):
    """A virtual environment, with the command if it was installed there."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def am_proxy(self) -> Path:
        """The command."""
        return self.folder / "bin" / "am-proxy"

    def borrow(self) -> None:
        """Use the dependencies that are installed for the tests, so that nothing is downloaded."""
        path = self.folder / Path(OURS).relative_to(sys.prefix)
        # only the folder itself: what its .pth files add, such as the name of the package in a checkout, stays out
        (path / "borrowed.pth").write_text(f"{OURS}\n")

    def install(self, *arguments: str | Path) -> None:
        """Install this by uv, without a network and without dependencies."""
        uv = Path(sys.executable).parent / "uv"
        command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", self.python, *arguments]
        subprocess.run(command, check=True, timeout=60)


def environment(folder: Path) -> Environment:
    """A new and empty one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    return Environment(folder)


def plain_environ(home: Path, **extra: str) -> dict[str, str]:
    """The variables of someone who has just logged in: none of ours, none of Python's, a home of their own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AM_", "PYTHON", "VIRTUAL_ENV", "UV_CACHE", "XDG_", "COVERAGE"))
    }
    return kept | {"HOME": str(home), "AM_DRAIN_DELAY": "0"} | extra


def said(*command: str | Path, folder: Path, environ: Mapping[str, str], seconds: float = 60) -> str:
    """What a command prints if it succeeds."""
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


def checkout(folder: Path) -> Path:
    """A copy of what the package is built from, and of the Makefile."""
    for name in ("app", "deploy/checkout"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md", "config.example.toml"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("Makefile", "requirements.lock"):
        with suppress(FileNotFoundError):
            shutil.copy(ROOT / name, folder / name)
    return folder
