"""The package in an environment of its own, as `pip install` leaves it, and the command that `make serve` leaves."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app.version import VERSION
from tests.support.packages import Environment, build, checkout, environment, plain_environ, said
from tests.support.running import started

ASSETS = re.compile(r'(?:src|href)="([^"#:]+\.\w+)"')
SHOUTS = 'raise SystemExit("this is the app of someone else")\n'


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel, with the dependencies of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    made = environment(folder / "environment")
    made.borrow()
    made.install(build("wheel", folder))
    return made


@pytest.fixture
def other_app(tmp_path: Path) -> Path:
    """A folder with a package `app` that belongs to someone else."""
    folder = tmp_path / "project"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "__init__.py").write_text(SHOUTS)
    return folder


def check_that_it_serves(*command: str | Path, folder: Path, environ: dict[str, str]) -> None:
    """Start it, ask it something, and open its page with everything that the page loads."""
    words = [*map(str, command), "serve", "--port", "0"]
    with started(words, folder=folder, environ=environ) as server:
        body = {"model": "demo", "input": "Hello"}
        assert httpx.post(f"{server.url}/responses", json=body, timeout=20).json()["status"] == "completed"
        base = server.url.removesuffix("/v1")
        page = httpx.get(f"{base}/")
        assets = set(ASSETS.findall(page.text))
        assert page.status_code == 200
        assert len(assets) >= 3
        assert {httpx.get(f"{base}/{asset.lstrip('/')}").status_code for asset in assets} == {200}
        assert server.stop() == 0


def test_the_installed_command_runs_from_any_folder(installed: Environment, tmp_path: Path) -> None:
    environ = plain_environ(tmp_path)
    assert said(installed.am_proxy, "--version", folder=tmp_path, environ=environ) == f"am-proxy {VERSION}\n"
    by_name = said(installed.python, "-m", "am_proxy", "--version", folder=tmp_path, environ=environ)
    assert by_name == f"am-proxy {VERSION}\n"
    said(installed.am_proxy, "check", folder=tmp_path, environ=environ)


def test_the_installed_server_answers_and_shows_its_page(installed: Environment, tmp_path: Path) -> None:
    check_that_it_serves(installed.am_proxy, folder=tmp_path, environ=plain_environ(tmp_path))


def test_a_package_of_the_user_that_is_called_app_is_not_touched(installed: Environment, other_app: Path) -> None:
    environ = plain_environ(other_app, PYTHONPATH=str(other_app))
    check_that_it_serves(installed.am_proxy, folder=other_app, environ=environ)
    imported = [str(installed.python), "-c", "import am_proxy.main, sys; print('app' in sys.modules)"]
    assert said(*imported, folder=other_app, environ=environ) == "False\n"
    ended = subprocess.run(
        [installed.python, "-c", "import app"], cwd=other_app, capture_output=True, text=True, check=False
    )
    assert ended.stderr == "this is the app of someone else\n"


def test_an_editable_install_follows_the_checkout(tmp_path: Path, other_app: Path) -> None:
    source = checkout(tmp_path / "checkout")
    code = "import sys; from hatchling.build import build_editable; print(build_editable(sys.argv[1]))"
    name = said(sys.executable, "-c", code, str(tmp_path), folder=source, environ=plain_environ(tmp_path))
    made = environment(tmp_path / "environment")
    made.borrow()
    made.install(tmp_path / name.strip())
    environ = plain_environ(tmp_path, PYTHONPATH=str(other_app))
    check_that_it_serves(made.am_proxy, folder=other_app, environ=environ)

    (source / "app" / "version.py").write_text('VERSION = "9.9.9"\n')
    assert said(made.am_proxy, "--version", folder=other_app, environ=environ) == "am-proxy 9.9.9\n"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A checkout, in a folder with a blank in its name, in which make has installed the dependencies."""
    folder = checkout(tmp_path / "a checkout")
    environment(folder / ".venv").borrow()
    for stamp in (".python", ".serve"):
        (folder / ".venv" / stamp).touch()
    return folder


def test_make_leaves_the_command_behind(made: Path, tmp_path: Path, other_app: Path) -> None:
    environ = plain_environ(tmp_path)
    command = made / ".venv" / "bin" / "am-proxy"
    announced = said("make", "--no-print-directory", "serve", "ARGS=--help", folder=made, environ=environ)
    assert f"To use am-proxy from any folder: {command}\n" in announced
    assert "--port" in announced

    link = tmp_path / "am-proxy"
    link.symlink_to(command)
    environ = plain_environ(tmp_path, PYTHONPATH=str(other_app))
    assert said(link, "--version", folder=other_app, environ=environ) == f"am-proxy {VERSION}\n"
    check_that_it_serves(command, folder=other_app, environ=environ)
