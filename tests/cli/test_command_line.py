"""What the command line says of itself, and of words it does not know."""

import gc
import os
import subprocess
from pathlib import Path
from subprocess import PIPE

import pytest

from app.__main__ import main
from app.cli.parser import build_parser
from app.version import VERSION
from tests.support.running import surroundings
from tests.support.terminal import am_proxy, terminal

HELP = """\
usage: am-proxy COMMAND [FLAGS]

AM Proxy gives any language model the OpenAI Responses API.

commands:
"""


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """The exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    printed = capsys.readouterr()
    return caught.value.code, printed.out, printed.err


def test_without_a_command_it_prints_its_help_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A service file that forgets the command must not look like a server that ended well."""
    code, out, err = ended(capsys)
    assert (code, out) == (2, "")
    assert err.startswith(HELP)
    assert ended(capsys, "keys")[2].startswith("usage: am-proxy keys COMMAND\n")


def test_the_collector_of_garbage_rests_while_a_command_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would walk through all that is loaded several times, and find nothing. A server that runs switches it on."""
    seen: list[bool] = []
    monkeypatch.setattr("app.cli.commands.run", lambda _: seen.append(gc.isenabled()))
    main([])
    assert (seen, gc.isenabled()) == ([False], True)


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_names_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ended(capsys, *words)
    assert (code, err) == (0, "")
    assert out.startswith(HELP)
    assert [name for name in build_parser().commands if f"\n  {name} " not in out] == []


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_the_version_is_printed(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, word) == (0, f"am-proxy {VERSION}\n", "")


@pytest.mark.parametrize("command", build_parser().commands)
def test_help_of_a_command_is_about_it_alone(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = ended(capsys, "help", command)[1]
    assert ended(capsys, command, "--help")[1] == out
    assert out.startswith(f"usage: am-proxy {command}")
    assert max(map(len, out.splitlines())) <= 80
    others = [name for name in build_parser().commands if name not in {command, "serve"} and f"am-proxy {name}" in out]
    assert others == []


def test_only_what_a_command_uses_is_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    doctor = ended(capsys, "doctor", "--help")[1]
    assert [flag for flag in ("--no-ui", "--watch", "--log-format", "--port") if flag in doctor] == []
    assert "--upstream URL" in doctor
    assert (
        "usage: am-proxy keys create [--name NAME] [--models PATTERN ...]" in ended(capsys, "help", "keys", "create")[1]
    )


@pytest.mark.parametrize(
    ("words", "message", "usage"),
    [
        ("serv", 'unknown command "serv" (did you mean serve?)', "COMMAND [FLAGS]"),
        ("start --port 1", 'unknown command "start" (did you mean serve?)', "COMMAND [FLAGS]"),
        ("sing", 'unknown command "sing"', "COMMAND [FLAGS]"),
        ("codex --model x", 'unknown command "codex" (did you mean launch?)', "COMMAND [FLAGS]"),
        ("help serv", 'unknown command "serv" (did you mean serve?)', "COMMAND [FLAGS]"),
        ("help keys create it", 'unexpected argument "it"', "keys create [--name NAME] [--models PATTERN ...]"),
        (
            "http://localhost:11434/v1",
            "an address is not a command (did you mean am-proxy serve --upstream http://localhost:11434/v1?)",
            "COMMAND [FLAGS]",
        ),
        ("--port 80", "a command comes first: am-proxy serve --port …", "COMMAND [FLAGS]"),
        ("--prot 80", "unknown flag --prot", "COMMAND [FLAGS]"),
        ("serve --prot 1", "unknown flag --prot (did you mean --port?)", "serve [FLAGS]"),
        ("serve --prot=1", "unknown flag --prot (did you mean --port?)", "serve [FLAGS]"),
        ("serve -p 1", "unknown flag -p (did you mean --port?)", "serve [FLAGS]"),
        ("serve -z", "unknown flag -z", "serve [FLAGS]"),
        ("serve --por 1", "unknown flag --por (did you mean --port?)", "serve [FLAGS]"),
        ("serve --zzz", "unknown flag --zzz", "serve [FLAGS]"),
        ("serve now", 'unexpected argument "now"', "serve [FLAGS]"),
        ("serve --port", "--port needs a value: PORT", "serve [FLAGS]"),
        ("serve --strict=yes", "--strict takes no value", "serve [FLAGS]"),
        (
            "doctor --port 1",
            "unknown flag --port: it is a flag of serve, check and launch",
            "doctor [FLAGS] [UPSTREAM ...]",
        ),
        (
            "launch codex exec",
            'unexpected argument "exec"; arguments of the agent come after --',
            "launch AGENT [FLAGS] [-- ARGUMENT ...]",
        ),
        (
            "launch codex --json",
            "unknown flag --json; arguments of the agent come after --",
            "launch AGENT [FLAGS] [-- ARGUMENT ...]",
        ),
        ("launch", "AGENT is missing", "launch AGENT [FLAGS] [-- ARGUMENT ...]"),
        (
            "launch claude",
            'AGENT must be one of codex, not "claude"',
            "launch AGENT [FLAGS] [-- ARGUMENT ...]",
        ),
        ("keys crate", 'unknown command "crate" (did you mean create?)', "keys COMMAND"),
        ("keys create --models", "--models needs a value: PATTERN", "keys create [--name NAME] [--models PATTERN ...]"),
    ],
)
def test_a_mistyped_word_is_named_with_what_may_be_meant_and_the_usage_of_its_command(
    words: str, message: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ended(capsys, *words.split())
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[:3] == [f"error: {message}", "", f"usage: am-proxy {usage}"]
    name = "".join(f" {word}" for word in usage.split() if word.isalpha() and word.islower())
    what = "commands" if "COMMAND" in usage else "flags"
    assert lines[3:] == [f"`am-proxy{name} --help` lists the {what}."]


@pytest.mark.parametrize("columns", [80, 120])
def test_an_error_is_red_on_a_terminal(columns: int, tmp_path: Path) -> None:
    with terminal(am_proxy("serv"), folder=tmp_path, columns=columns) as shown:
        assert shown.wait() == 2
    assert shown.lines == [
        'error: unknown command "serv" (did you mean serve?)',
        "",
        "usage: am-proxy COMMAND [FLAGS]",
        "`am-proxy --help` lists the commands.",
    ]
    assert (shown.colours("error:"), shown.colours("unknown command")) == ({"red"}, {"default"})


@pytest.mark.parametrize("words", ["check", "check --all"])
def test_a_reader_of_its_output_that_ends_early_is_no_error(words: str, tmp_path: Path) -> None:
    """As in `am-proxy check | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = am_proxy(*words.split())
        ran = subprocess.run(command, cwd=tmp_path, env=surroundings(), stdout=writing, stderr=PIPE, check=False)
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")
