"""The command with a Python that cannot run it: one sentence, and no traceback."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app import __main__ as command
from tests.support.programs import interpreter
from tests.support.running import ROOT

OLD = ("3.6", "3.7", "3.8", "3.9", "3.10")
AGAIN = "Install it again, with its dependencies."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the two files that every Python reads first, and with nothing that a new one would need."""
    (tmp_path / "app").mkdir()
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "app" / name, tmp_path / "app")
    return tmp_path


def refusal(*python: str | Path, folder: Path) -> str:
    """What the command says, if it fails without a traceback."""
    ended = subprocess.run(
        [*python, "-m", "app", "check"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1), ended.stderr
    return ended.stderr.strip()


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_what_is_read_first_has_no_syntax_that_an_old_python_lacks(name: str) -> None:
    ast.parse((ROOT / "app" / name).read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("version", [pytest.param(each, marks=pytest.mark.needs(f"python{each}")) for each in OLD])
def test_an_old_python_says_that_it_is_too_old(version: str, place: Path) -> None:
    python = interpreter(version)
    assert python is not None
    assert refusal(python, folder=place) == f"am-proxy needs Python 3.11 or newer, and this is {version}. {AGAIN}"


def test_a_checkout_names_the_command_that_works(place: Path) -> None:
    shutil.copytree(ROOT / "app", place / "app", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    found = re.fullmatch(
        r"am-proxy needs the package (\w+), which is not installed for (\S+)\. (.*)",
        refusal(sys.executable, "-S", folder=place),
    )
    assert found
    assert (found[1] in {"msgspec", "pydantic"}, found[2], found[3]) == (True, sys.executable, AGAIN)

    (place / "Makefile").touch()
    made = place / ".venv" / "bin" / "am-proxy"
    assert refusal(sys.executable, "-S", folder=place).endswith(f". Run `make serve` in {place} once, then {made}.")

    made.parent.mkdir(parents=True)
    made.touch()
    assert refusal(sys.executable, "-S", folder=place).endswith(f". Run {made} instead.")


def test_a_module_of_its_own_that_is_missing_is_not_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "app.cli.commands", None)
    with pytest.raises(ModuleNotFoundError, match=r"app\.cli\.commands"):
        command.main(["check"])
