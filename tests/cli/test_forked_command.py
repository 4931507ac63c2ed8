"""The processes that tests fork for `am-proxy` are like those that Python starts anew."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.am_proxy_process import COMMAND
from tests.support.running import Running, ended, started, surroundings

ANEW = [sys.executable, "-s", "-m", "app"]
"""The same command; only it is written in another way than the one that is forked."""
BOTH = [COMMAND, ANEW]


@contextmanager
def serving(folder: Path) -> Iterator[list[Running]]:
    """A server of each kind."""
    environ = surroundings({"ONE": "1"})
    flags = ["serve", "--port", "0"]
    with (
        started([*COMMAND, *flags], folder=folder, environ=environ) as forked,
        started([*ANEW, *flags], folder=folder, environ=environ) as anew,
    ):
        yield [forked, anew]


def status(process: Path) -> dict[str, str]:
    """What Linux says of it, without its numbers and sizes."""
    lines = [line.split(":\t", 1) for line in (process / "status").read_text().splitlines()]
    return {name: value for name, value in lines if name in {"PPid", "Umask", "SigIgn", "SigCgt", "SigBlk", "Groups"}}


def files(process: Path) -> list[tuple[str, str]]:
    """What it has open, without the numbers of its pipes and sockets."""
    return sorted((file.name, str(file.readlink()).partition(":")[0]) for file in (process / "fd").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks them, and says so much of a process")
def test_linux_sees_no_difference(tmp_path: Path) -> None:
    with serving(tmp_path) as servers:
        forked, anew = [Path(f"/proc/{server.process.pid}") for server in servers]
        assert (forked / "cmdline").read_bytes() != (anew / "cmdline").read_bytes()
        assert status(forked) == status(anew)
        assert status(forked)["PPid"] == str(os.getpid())
        assert files(forked) == files(anew)
        assert (forked / "cwd").readlink() == tmp_path == (anew / "cwd").readlink()
        assert os.getsid(servers[0].process.pid) == os.getsid(servers[1].process.pid)
        assert os.getpgid(servers[0].process.pid) == os.getpgid(servers[1].process.pid)
        first, second = [re.sub(r":[0-9]+", "", server.banner) for server in servers]
        assert first == second
        assert [server.stop() for server in servers] == [0, 0]


@pytest.mark.parametrize("command", BOTH)
def test_a_signal_that_ends_it_is_its_exit_code(command: list[str], tmp_path: Path) -> None:
    with started([*command, "serve", "--port", "0"], folder=tmp_path, environ=surroundings()) as server:
        server.process.send_signal(signal.SIGKILL)
        assert server.process.wait(15) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("words", "environ", "code"),
    [
        ("--version", {}, 0),
        ("serv", {}, 2),
        ("check", {}, 0),
        ("check --config gone.toml", {}, 2),
        ("check", {"AM_PORT": "many"}, 2),
        ("check", {"PYTHONPATH": "elsewhere"}, 1),
    ],
)
def test_the_same_is_said(words: str, environ: dict[str, str], code: int, tmp_path: Path) -> None:
    said = [ended([*command, *words.split()], folder=tmp_path, environ=surroundings(environ)) for command in BOTH]
    assert [(one.returncode, one.stdout, one.stderr) for one in said] == [(code, said[1].stdout, said[1].stderr)] * 2


def test_each_has_its_own_folder_and_environment(tmp_path: Path) -> None:
    """What one changes, or is given, is not there for the next."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(f"[server]\n{name} = 1\n")
        in_folder = ended([*COMMAND, "check"], folder=tmp_path / name, environ=surroundings())
        in_environ = ended([*COMMAND, "check"], folder=tmp_path, environ=surroundings({"AM_PORT": name}))
        assert (in_folder.returncode, f"server.{name}: " in in_folder.stderr) == (2, True)
        assert (in_environ.returncode, in_environ.stderr.count("AM_PORT")) == (2, 1)
        assert ended([*COMMAND, "check"], folder=tmp_path, environ=surroundings()).returncode == 0
