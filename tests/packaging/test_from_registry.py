"""The commands of docs/install.md, with packages from the registry. `make package` runs them; they take minutes.

Each begins with an empty home: no cache, no settings, nothing installed.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from app.version import VERSION
from tests.packaging.test_installed import check_that_it_serves
from tests.support.packages import Environment, build, checkout, environment, plain_environ, said
from tests.support.running import ROOT

pytestmark = pytest.mark.apart("make package")

PAGE = (ROOT / "docs" / "install.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
INSTALLING = [text.splitlines() for text in BLOCKS if "am-proxy serve" in text and "systemctl" not in text]
SECONDS = 500


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with uv, uvx and pipx. Skips if no registry can be reached."""
    folder = tmp_path_factory.mktemp("tools")
    made = environment(folder / "environment")
    uv = Path(sys.executable).parent / "uv"
    got = subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", made.python, "pipx"],
        env=plain_environ(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if got.returncode:
        pytest.skip(f"no registry can be reached: {got.stderr.strip().splitlines()[-1]}")
    programs = folder / "bin"
    programs.mkdir()
    for program in (uv, uv.with_name("uvx"), made.folder / "bin" / "pipx"):
        (programs / program.name).symlink_to(program)
    return programs


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return checkout(tmp_path / "repository")


@pytest.fixture
def environ(tools: Path, tmp_path: Path) -> dict[str, str]:
    """That of someone with an empty home, and with the tools."""
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(home / ".local" / "bin"), str(tools), *os.get_exec_path()])
    return plain_environ(home, PATH=path)


def last_line(line: str) -> list[str]:
    """The command that starts the server, without its verb, for a shell."""
    return ["bash", "-c", f'exec {line.removesuffix(" serve")} "$@"', "bash"]


@pytest.mark.parametrize("lines", INSTALLING, ids=lambda lines: shlex.split(lines[-2 if len(lines) > 1 else 0])[0])
def test_the_commands_of_the_page_give_a_server_that_starts(
    lines: list[str], source: Path, environ: dict[str, str]
) -> None:
    *before, start = lines
    if before:
        said("bash", "-ec", "\n".join(before), folder=source, environ=environ, seconds=SECONDS)
    command = last_line(start)
    assert said(*command, "--version", folder=source, environ=environ, seconds=SECONDS) == f"am-proxy {VERSION}\n"
    check_that_it_serves(*command, folder=source, environ=environ)


def test_make_serve_works_in_a_fresh_copy(source: Path, environ: dict[str, str]) -> None:
    said("make", "serve", "ARGS=--help", folder=source, environ=environ, seconds=SECONDS)
    check_that_it_serves(source / ".venv" / "bin" / "am-proxy", folder=source, environ=environ)


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_pip_installs_the_built_package_with_its_dependencies(
    target: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    made = with_pip(tmp_path / "environment")
    package = build(target, tmp_path)
    said(made.python, "-m", "pip", "install", "-q", package, folder=tmp_path, environ=environ, seconds=SECONDS)
    assert (
        said(made.python, "-m", "pip", "check", folder=tmp_path, environ=environ) == "No broken requirements found.\n"
    )
    check_that_it_serves(made.am_proxy, folder=tmp_path, environ=environ)


def test_pip_installs_it_editable(source: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    made = with_pip(tmp_path / "environment")
    said(made.python, "-m", "pip", "install", "-q", "-e", ".[otel]", folder=source, environ=environ, seconds=SECONDS)
    traced = environ | {"AM_TRACES": "http://127.0.0.1:1/v1/traces"}
    check_that_it_serves(made.am_proxy, folder=tmp_path, environ=traced)


def test_twine_finds_nothing_wrong_with_the_package_page(tmp_path: Path, environ: dict[str, str]) -> None:
    files = [build(target, tmp_path / target) for target in ("wheel", "sdist")]
    checked = said("uvx", "twine", "check", "--strict", *files, folder=tmp_path, environ=environ, seconds=SECONDS)
    assert checked.count("PASSED") == 2


def with_pip(folder: Path) -> Environment:
    """A new environment with pip."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    return Environment(folder)
