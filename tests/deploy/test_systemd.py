"""The systemd unit: systemd accepts it, what it starts is a command, and it stops no sooner than the server."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.parser import parse
from app.settings import Server
from tests.support.running import ROOT

UNIT = ROOT / "deploy" / "systemd" / "am-proxy.service"
TEXT = UNIT.read_text()
INSTALL = (ROOT / "docs" / "install.md").read_text()


def values(name: str) -> list[str]:
    """The values of a directive."""
    return re.findall(rf"^{name}=(.*)$", TEXT, re.MULTILINE)


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_it_and_rates_it_as_protected(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    program = shlex.split(values("ExecStart")[0])[0]
    unit.write_text(TEXT.replace(program, shutil.which("true") or ""))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)  # noqa: S607 — whichever there is
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],  # noqa: S607 — as above
        capture_output=True,
        text=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout


def test_no_directive_stands_twice_and_none_is_outside_of_a_section() -> None:
    reader = configparser.ConfigParser(interpolation=None, strict=False)
    reader.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names have capitals
    reader.read_string(TEXT)
    assert reader.sections() == ["Unit", "Service", "Install"]
    names = re.findall(r"^(\w+)=", TEXT, re.MULTILINE)
    assert sorted({name for name in names if names.count(name) > 1}) == ["SystemCallFilter"]


def test_it_starts_the_server_with_files_that_the_page_puts_there() -> None:
    program, *arguments = shlex.split(values("ExecStart")[0])
    flags = parse(arguments)
    assert flags.command == "serve"
    folder = Path(program).parents[1]
    assert f"python3 -m venv {folder}\n" in INSTALL
    assert f"am-proxy.toml {flags.config}\n" in INSTALL
    assert values("EnvironmentFile")[0].removeprefix("-") in INSTALL


def test_it_waits_until_streams_have_ended() -> None:
    defaults = Server()
    assert int(values("TimeoutStopSec")[0]) >= defaults.drain_delay + defaults.shutdown_grace + 2
