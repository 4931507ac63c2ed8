"""What a person sees on a terminal of 80 and of 120 columns: help, mistakes, and the verdict."""

import sys
from pathlib import Path

import pytest

from app.cli.parser import build_parser
from tests.support.launching import Home
from tests.support.terminal import Terminal, am_proxy, terminal

COLUMNS = (80, 120)
COMMANDS = [name for name in build_parser().commands if name not in {"help", "version"}]
HELP = [[], *([name, "--help"] for name in COMMANDS), ["keys", "create", "--help"]]
NEWCOMERS: list[tuple[list[str], str, list[str]]] = [
    (["serv"], "", ['error: unknown command "serv" (did you mean serve?)']),
    (["serve", "--prot", "1"], "", ["error: unknown flag --prot (did you mean --port?)"]),
    (["serve", "--port", "99999"], "", ["--port: must be at most 65535"]),
    (["check"], "[server]\nstrict = 'yes'", ["am-proxy.toml: server.strict: must be true or false"]),
    (
        ["check"],
        "[server]\nhost = 127.0.0.1",
        [
            "am-proxy.toml: is not TOML: Expected newline or end of document after a",
        ],
    ),
    (["serve"], "server:\n  port: 1", ["am-proxy.toml: is not TOML: Expected '=' after a key in a key/value pair (at"]),
    (["check", "--config", "gone.toml"], "", ["gone.toml: cannot be read: there is no such file"]),
]
"""What somebody new types, the configuration, and the first lines of what is said."""
ONE_BY_ONE = """
import os, sys
from app.__main__ import main
for folder, words in {commands}:
    os.chdir(folder)
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    print("ended with", code, flush=True)
    os.chdir(".." if folder != "." else ".")
"""
BAD = """\
[server]
port = "8080"
strict = "yes"
allowed_hosts = ["first.example", "second.example", "third.example", "https://fourth.example", "fifth", "sixth", "last"]

[[keys]]
name = "alice"
value = "env:ALICE_KEY"

[upstreams.ollama]
via = "chat"
base_url = "localhost:11434"
apikey = "sk-let-nobody-see-this"

[models.gpt-4.1]
upstream = "ollama"
"""
AT_80 = """\
am-proxy.toml: a name with a dot needs quotes: [models."gpt-4.1"]
am-proxy.toml: keys[0].value: the environment variable ALICE_KEY is not set
am-proxy.toml: server.allowed_hosts[3]: must be a host name or address without
  a port, or "*"
am-proxy.toml: server.port: must be a whole number, without quotes
am-proxy.toml: server.strict: must be true or false
am-proxy.toml: upstreams.ollama.apikey: is not a setting here (did you mean
  api_key?)
am-proxy.toml: upstreams.ollama.base_url: must be an address that starts with
  http:// or https:// (did you mean http://localhost:11434/v1?)
7 errors in am-proxy.toml"""
GOOD = '[[keys]]\nname = "a"\nvalue = "b"\n[upstreams.u]\nvia = "demo"\n[models.m]\nupstream = "u"\n'


def seen(shown: Terminal, columns: int, code: int) -> list[str]:
    """The lines after the command has ended. None has been broken by the terminal."""
    assert shown.wait() == code
    assert [line for line in shown.lines if len(line) >= columns] == []
    return shown.lines


def one_by_one(commands: list[list[str]], *, in_folders: bool = False) -> list[str]:
    """The command line of one process that runs all these, each in a folder of its own: to start takes longer."""
    placed = [(str(number) if in_folders else ".", words) for number, words in enumerate(commands)]
    return [sys.executable, "-c", ONE_BY_ONE.format(commands=placed)]


def each_said(lines: list[str]) -> list[tuple[list[str], int]]:
    """What each of these commands said, and its exit code."""
    said: list[tuple[list[str], int]] = []
    begin = 0
    for number, line in enumerate(lines):
        if line.startswith("ended with "):
            said.append((lines[begin:number], int(line.removeprefix("ended with "))))
            begin = number + 1
    return said


@pytest.mark.parametrize("columns", COLUMNS)
def test_every_help_fits(columns: int, tmp_path: Path) -> None:
    with terminal(one_by_one(HELP), folder=tmp_path, columns=columns, rows=1000) as shown:
        said = each_said(seen(shown, columns, 0))
    for (lines, code), words in zip(said, HELP, strict=True):
        assert lines[0].startswith(" ".join(["usage: am-proxy", *words[:-1]]))
        assert code == (0 if words else 2), words


@pytest.mark.parametrize(
    ("columns", "environ"),
    [(80, {}), (120, {}), (80, {"NO_COLOR": "1"}), (120, {"NO_COLOR": "1"})],
)
def test_every_mistake_is_shown(columns: int, environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text(BAD)
    with terminal(am_proxy("check"), folder=tmp_path, columns=columns, environ=environ) as shown:
        lines = seen(shown, columns, 2)
        colours = (shown.colours("7 errors"), shown.colours("must be"))
    if columns == 80:
        assert "\n".join(lines) == AT_80
    plain = {"default"}
    assert colours == ((plain,) * 2 if environ else ({"red"}, plain))


@pytest.mark.parametrize("columns", COLUMNS)
def test_the_mistakes_of_newcomers(columns: int, tmp_path: Path) -> None:
    for number, (_, file, _) in enumerate(NEWCOMERS):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "am-proxy.toml").write_text(file)
    commands = [words for words, _, _ in NEWCOMERS]
    with terminal(one_by_one(commands, in_folders=True), folder=tmp_path, columns=columns, rows=1000) as shown:
        said = each_said(seen(shown, columns, 0))
    for (lines, code), (words, _, expected) in zip(said, NEWCOMERS, strict=True):
        assert code == 2, words
        assert lines[0].startswith(expected[0])
        assert lines[1 : len(expected)] == expected[1:]


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize(("environ", "dim"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_verdict_is_the_last_line(columns: int, environ: dict[str, str], *, dim: bool, tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text(GOOD)
    with terminal(am_proxy("check"), folder=tmp_path, columns=columns, environ=environ) as shown:
        lines = seen(shown, columns, 0)
    assert lines[-1] == "am-proxy.toml is valid: 1 upstream, 1 model, 1 key"
    assert (b"\x1b[" in shown.raw) is dim


@pytest.mark.parametrize("columns", COLUMNS)
def test_the_banner_fits(columns: int, tmp_path: Path) -> None:
    with terminal(am_proxy("serve", "--port", "0"), folder=tmp_path, columns=columns) as shown:
        shown.wait_for("output_text")
        shown.type("\x03")
        assert seen(shown, columns, 0)[-1] == "stopped"


@pytest.mark.parametrize("columns", COLUMNS)
def test_what_launch_says_is_wrapped_at_words(columns: int, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.install()
    command = am_proxy("launch", "codex", "--upstream", "http://127.0.0.1:9/v1")
    with terminal(command, folder=home.work, columns=columns, environ=home.environ) as shown:
        assert shown.wait() == 1
        assert shown.colours("cannot launch") == {"red"}
    first, second = shown.lines
    assert first.endswith({80: "Nothing listens", 120: "port 9. Start the server"}[columns])
    assert f"{first} {second.removeprefix('  ')}" == (
        "am-proxy: cannot launch Codex: --upstream http://127.0.0.1:9/v1: Nothing listens on 127.0.0.1 port 9. "
        "Start the server there, or correct the address."
    )
