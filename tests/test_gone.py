"""Names that are gone: configuration, variables and command line say what to use instead, and the exit code is 2."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from app.settings.gone import ROWS
from tests.support.running import ROOT, surroundings
from tests.wire.program import COMMAND, serving
from tests.wire.sockets import opened

NAMED: Final = {"upstreams", "models"}
WORDS: Final = [(kind, name, instead) for kind, name, instead in ROWS if kind in {"command", "flag"}]


def run(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *words]
    return subprocess.run(command, cwd=folder, env=surroundings(environ), capture_output=True, text=True, check=False)


def known() -> Iterator[str]:
    """The tables and settings that there are, by their page."""
    page = (ROOT / "docs" / "configuration.md").read_text()
    for section in page.split("\n## `[")[1:]:
        table = section.strip("[").partition("]")[0].replace(".NAME", "")
        yield from (table, *(f"{table}.{name}" for name in re.findall(r"^\| `(\w+)`", section, re.MULTILINE)))
    yield from ("AM_LIMIT_STORE", "AM_LIMIT_STORE_PASSWORD") if "`[limits]`" in page else ()


def test_every_setting_that_is_gone_is_answered_at_once(tmp_path: Path) -> None:
    there = {*known()}
    rows = {name: instead for kind, name, instead in ROWS if kind == "setting" and name not in there}
    tables = {"server": ["no_setting = 1"]}
    for name in rows:
        table, dot, setting = name.partition(".")
        if not name.startswith("AM_"):
            tables.setdefault(table, []).extend([f"{setting} = 1"] if dot else [])
    titled = ([f"[{table}.x]" if table in NAMED else f"[{table}]", *lines] for table, lines in tables.items())
    (tmp_path / "am-proxy.toml").write_text("\n".join(line for lines in titled for line in lines))
    rows |= {f"AM_{name[7:].upper()}": instead for name, instead in rows.items() if name.startswith("server.")}
    ran = run(tmp_path, "check", environ={name: "1" for name in rows if name.startswith("AM_")})
    assert ran.returncode == 2
    lines = {re.sub(r"^(upstreams|models)", r"\1.x", name): instead for name, instead in rows.items()}
    assert [name for name, instead in lines.items() if f"{name}: is gone; {instead}\n" not in ran.stderr] == []


@pytest.mark.parametrize(("kind", "name", "instead"), WORDS, ids=[name for _, name, _ in WORDS])
def test_a_word_that_is_gone_is_answered(kind: str, name: str, instead: str, tmp_path: Path) -> None:
    *command, word = name.split()
    if re.search(rf"^  {word}\b", run(tmp_path, *command, "--help").stdout, re.MULTILINE):
        return  # there still
    ran = run(tmp_path, *command, *(["codex"] if (kind, command) == ("flag", ["launch"]) else []), word)
    assert (ran.returncode, f"{word} is gone; {instead}\n" in ran.stderr) == (2, True)


def test_a_value_that_is_gone_is_answered(tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text('[upstreams.u]\nvia = "replay"\n[search]\nbackend = "url"\n')
    ran = run(tmp_path, "check")
    assert ran.returncode == 2
    assert "upstreams.u.via: replay is gone; use" in ran.stderr
    assert "search.backend: url is gone; use" in ran.stderr


@pytest.mark.parametrize("kind", ["response.steer", "response.inject"])
async def test_a_frame_that_is_gone_is_answered(kind: str) -> None:
    with serving() as url:
        async with opened(url) as client:
            await client.connection.send(json.dumps({"type": kind}))
            event = await client.event()
    assert f"'{kind}' is gone; " in event["error"]["message"]
