"""What the command line says of itself, and of words that it does not know."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.main import main
from app.version import VERSION

HERE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A terminal of 80 columns, in an empty folder."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")  # of rich, as typer uses it
    monkeypatch.chdir(tmp_path)


def ran(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    """The exit code, stdout and stderr of a command."""
    monkeypatch.setattr(sys, "argv", ["am-proxy", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    printed = capsys.readouterr()
    return caught.value.code, printed.out, printed.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("", 2, "Usage: am-proxy"),
        ("--help", 0, "Usage: am-proxy"),
        ("-V", 0, f"am-proxy {VERSION}"),
        ("serve --help", 0, "--strict                          Refuse what"),
        ("keys", 2, "create"),
        ("serv", 2, "Did you mean 'serve'?"),
        ("serve --prot 1", 2, "Possible options: --host, --port"),
        ("serve --port", 2, "'--port' requires an argument"),
        ("serve --port x", 2, "Invalid value for '--port'"),
        ("keys create", 2, "Missing argument 'NAME'"),
        ("serve --watch 3", 2, "am-proxy: --watch is gone; use watch in [server], or AM_WATCH\n"),
        (
            "serve --log-format=json",
            2,
            "am-proxy: --log-format is gone; use log_format in [server], or AM_LOG_FORMAT\n",
        ),
        ("check --port 3", 2, "am-proxy: --port is gone; it is a flag of am-proxy serve\n"),
        ("launch opencode", 2, "am-proxy: opencode is gone; use the address of this server in opencode's own file"),
        ("launch zz", 2, "there is no agent 'zz' here: am-proxy launch codex"),
        ("init", 2, "am-proxy: init is gone; use am-proxy serve --upstream URL, or write am-proxy.toml by hand"),
        ("http://h:1/v1", 2, "am-proxy: an address is no command: am-proxy serve --upstream http://h:1/v1\n"),
        ("serve --log-level loud", 2, "--log-level: must be one of debug, info, warning, error\n"),
    ],
)
def test_a_word_is_known_or_what_may_be_meant_is_said(
    words: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = ran(words, monkeypatch, capsys)
    assert found == code
    assert said in (out if code == 0 or words in {"", "keys"} else err)
    assert "" in {out, err}
    assert max(map(len, (out + err).splitlines())) <= 110


def test_the_program_starts_as_a_module(tmp_path: Path) -> None:
    """And a reader of its output that ends early is no error."""
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    command = f"{sys.executable} -m app check | head -1"
    ended = subprocess.run(command, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert ended.stdout == "[upstreams.demo]\n"
