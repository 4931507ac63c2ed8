"""`am-proxy completion`."""

import subprocess

import pytest

from app.__main__ import main


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
    wanted = ("serve", "check", "doctor", "init", "litellm chat messages responses demo")
    assert [name for name in wanted if name not in script] == []
