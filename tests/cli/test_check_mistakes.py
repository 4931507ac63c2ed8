"""`am-proxy check`: what it says about mistakes."""

from pathlib import Path

import pytest

from app.__main__ import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["check", "serve"])
def test_mistakes_go_to_stderr_and_the_exit_code_is_2(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--port", "x", "--log-format", "xml"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "--log-format: must be one of auto, text, json",
        "--port: must be a whole number",
        "2 errors in the configuration",
    ]


def test_a_note_is_printed_and_is_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("AM_HOTS", "::")
    assert main(["check"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "note: AM_HOTS is not a setting (did you mean AM_HOST?)",
        "the configuration is valid: 1 upstream, 1 model, no keys",
    ]


def test_a_provider_that_litellm_does_not_know_is_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.toml").write_text(
        '[upstreams.it]\nprovider = "deepsek"\napi_key = "k"\n[models.m]\nupstream = "it"\n'
    )
    assert main(["check"]) == 2
    assert capsys.readouterr().err == (
        'config.toml: upstreams.it.provider: litellm knows no provider "deepsek" (did you mean deepseek?)\n'
        "1 error in config.toml\n"
    )


UNKNOWN_PROVIDER = """\
config.toml: upstreams.other: opnai is not a known provider (did you mean openai?): \
leave provider out and say base_url, or say via = "litellm"\
"""


def test_what_a_variable_lacks_hides_no_other_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.toml").write_text("""\
[[keys]]
name = "a"
value = "env:GONE"
models = 1
[seal]
keys = ["env:GONE", "short"]
[upstreams.typo]
provider = "deepsek"
api_key = "env:GONE"
[upstreams.without_address]
via = "chat"
api_key = "${GONE}"
[upstreams.other]
via = "responses"
provider = "opnai"
base_url = "env:GONE"
[models.m]
upstream = "typo"
""")
    assert main(["check"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "config.toml: keys[0].models: must be a list",
        "config.toml: keys[0].value: the environment variable GONE is not set",
        "config.toml: seal.keys[0]: the environment variable GONE is not set",
        "config.toml: seal.keys[1]: must be at least 32 random characters: `openssl rand -hex 32`",
        UNKNOWN_PROVIDER,
        "config.toml: upstreams.other.base_url: the environment variable GONE is not set",
        "config.toml: upstreams.typo.api_key: the environment variable GONE is not set",
        'config.toml: upstreams.typo.provider: litellm knows no provider "deepsek" (did you mean deepseek?)',
        'config.toml: upstreams.without_address: via = "chat" needs a base_url',
        "config.toml: upstreams.without_address.api_key: the environment variable GONE is not set",
        "10 errors in config.toml",
    ]
