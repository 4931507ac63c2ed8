"""`am-proxy init` and `am-proxy completion`."""

import re
import socket
import stat
import subprocess
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli import init as module
from app.cli.init import LOCAL as USUAL_PORTS
from app.cli.init import init
from app.providers.lookup import provider_of
from app.settings import load


@pytest.fixture(autouse=True)
def nothing_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs on this machine is not found."""
    monkeypatch.setattr(module, "LOCAL", {})


def answering(*answers: str) -> Callable[[str], str]:
    """Somebody who gives these answers, then closes the terminal."""
    left = list(answers)

    def ask(_question: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


@pytest.mark.parametrize(
    ("answers", "upstream", "model"),
    [
        (["4", ""], {"demo": {"via": "demo"}}, {"demo": {"upstream": "demo"}}),
        (
            ["1", "http://localhost:11434/v1", "", "n"],
            {"local": {"via": "chat", "base_url": "http://localhost:11434/v1"}},
            {"*": {"upstream": "local"}},
        ),
        (
            ["1", "grok", "groq", "", "n"],
            {"groq": {"via": "chat", "provider": "groq", "api_key": "env:GROQ_API_KEY"}},
            {"*": {"upstream": "groq"}},
        ),
        (
            ["1", "ollama", "n"],
            {"ollama": {"via": "chat", "provider": "ollama"}},
            {"*": {"upstream": "ollama"}},
        ),
        (
            ["3", "no address", "https://api.example.com/v1", "EXAMPLE_KEY", ""],
            {"local": {"via": "responses", "base_url": "https://api.example.com/v1", "api_key": "env:EXAMPLE_KEY"}},
            {"*": {"upstream": "local"}},
        ),
        (
            ["", "", "gpt-5", "", ""],
            {"openai": {"provider": "openai", "api_key": "env:OPENAI_API_KEY"}},
            {"gpt-5": {"upstream": "openai"}},
        ),
    ],
)
def test_what_is_written_is_what_was_answered_and_can_be_read(
    answers: list[str], upstream: object, model: object, tmp_path: Path
) -> None:
    path = tmp_path / "am-proxy.toml"
    assert init(path, answering(*answers)) == 0
    written = tomllib.loads(path.read_text())
    assert written == {"server": {"host": "127.0.0.1", "port": 8080}, "upstreams": upstream, "models": model}
    assert load({}, {"EXAMPLE_KEY": "k", "OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}, tmp_path).file is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_for_other_machines_a_key_is_made_and_only_its_digest_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path / "am-proxy.toml", answering("4", "y")) == 0
    (key,) = re.findall(r"stored nowhere:  (am-\S+)", capsys.readouterr().out)
    settings = load({}, {}, tmp_path)
    assert settings.server.host == "0.0.0.0"  # noqa: S104 — it was asked for
    assert [known.digest for known in settings.keys] == [sha256(key.encode()).digest()]
    assert key not in (tmp_path / "am-proxy.toml").read_text()


def test_a_server_of_this_machine_is_found_and_configured_as_its_provider_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(module, "LOCAL", {"llama_cpp": port})
        assert init(tmp_path / "am-proxy.toml", answering("", "", "")) == 0
    assert tomllib.loads((tmp_path / "am-proxy.toml").read_text())["upstreams"] == {
        "llama_cpp": {"via": "chat", "provider": "llama_cpp", "base_url": f"http://127.0.0.1:{port}/v1"}
    }
    assert load({}, {}, tmp_path).upstreams["llama_cpp"].named_tool_choice == "required"


def test_the_usual_ports_are_those_of_the_providers() -> None:
    for name, port in USUAL_PORTS.items():
        known = provider_of(name)
        assert known.speaks_chat
        assert known.base_url in (None, f"http://127.0.0.1:{port}/v1")


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "am-proxy.toml").write_text("mine")
    assert main(["init", "--config", str(tmp_path / "am-proxy.toml")]) == 1
    assert (tmp_path / "am-proxy.toml").read_text() == "mine"
    assert "exists already" in capsys.readouterr().err


def test_who_gives_up_gets_no_file(tmp_path: Path) -> None:
    assert init(tmp_path / "am-proxy.toml", answering("1")) == 1
    assert not (tmp_path / "am-proxy.toml").exists()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["am-proxy", "che"], "check"),
        (["am-proxy", "check", "--prob"], "--probe"),
        (["am-proxy", "completion", "z"], "zsh"),
        (["am-proxy", "serve", "--via", "c"], "chat"),
        (["am-proxy", "serve", "--log-format", "j"], "json"),
    ],
)
def test_bash_completes_commands_and_flags(words: list[str], offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    line = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_am_proxy; echo ${{COMPREPLY[@]}}"
    ended = subprocess.run(["bash", "-c", f"{script}\n{line}"], capture_output=True, text=True, check=True)  # noqa: S607 — the user's shell
    assert ended.stdout.split() == [offered]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    wanted = ("serve", "check", "doctor", "init", "litellm chat responses demo")
    assert [name for name in wanted if name not in script] == []


def test_what_comes_next_names_the_file_where_it_has_another_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path / "my own.toml", answering("4", "")) == 0
    assert f"am-proxy serve --config '{tmp_path}/my own.toml'" in capsys.readouterr().out
