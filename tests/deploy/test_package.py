"""The wheel that people install: what is in it, and that its command runs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.version import VERSION

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as an installer does it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder / "site")
    return folder / "site"


def test_it_holds_the_folder_app_under_a_name_that_no_other_project_has(installed: Path) -> None:
    ours = {path.relative_to(ROOT / "app") for path in (ROOT / "app").rglob("*") if path.suffix not in {"", ".pyc"}}
    assert Path("inspector/static/index.html") in ours
    assert {path.relative_to(installed / "am_proxy") for path in (installed / "am_proxy").rglob("*.*")} == ours


def test_its_command_runs(installed: Path, tmp_path: Path) -> None:
    points = (installed / f"am_proxy-{VERSION}.dist-info" / "entry_points.txt").read_text()
    assert points == "[console_scripts]\nam-proxy = am_proxy.__main__:main\n"
    command = [sys.executable, "-c", "from am_proxy.__main__ import main; main()", "--version"]
    environ = {"PYTHONPATH": str(installed), "PATH": "/usr/bin"}
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.stdout == f"am-proxy {VERSION}\n", ran.stderr
