"""`am-proxy check` prints every mistake, or the settings without secrets; `keys create` a key that is let in."""

import sys
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from app.cli.main import main
from app.settings.load import load

FILE = """\
[server]
port = 9000
keep_alive = 2.5

[[keys]]
name = "alice"
value = "env:ALICE_KEY"

[upstreams.deepseek]
provider = "deepseek"
api_key = "file:secret"

[upstreams.local]
base_url = "http://localhost:11434"

[models."gpt-4.1"]
upstreams = ["local", "deepseek"]
names = { deepseek = "deepseek-chat" }
can.vision = false

[models.fast]
upstreams = ["local", "gpt-4.1"]
"""
CHECKED = """\
[server]
port = 9000
keep_alive = 2.5
strict = true

[[keys]]
name = "alice"
sha256 = "{digest}"

[upstreams.deepseek]
via = "chat"
provider = "deepseek"
api_key = "***"
base_url = "https://api.deepseek.com"

[upstreams.local]
via = "chat"
base_url = "http://localhost:11434/v1"

[models."gpt-4.1"]
upstreams = ["local", "deepseek"]
names = {{ deepseek = "deepseek-chat" }}
can = {{ vision = false }}

[models.fast]
upstreams = ["local", "gpt-4.1"]

"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", ["am-proxy", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


def test_a_right_configuration_is_printed_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "am-proxy.toml").write_text(FILE)
    (folder / "secret").write_text("sk-deep")
    monkeypatch.setenv("ALICE_KEY", "let-alice-in")
    monkeypatch.setenv("AM_STRICT", "true")
    monkeypatch.setenv("AM_HOTS", "::")
    assert ended(monkeypatch, "check") == 0
    printed = capsys.readouterr()
    assert printed.out == CHECKED.format(digest=sha256(b"let-alice-in").hexdigest())
    assert printed.err.splitlines() == [
        "note: AM_HOTS is not a setting (did you mean AM_HOST?)",
        "am-proxy.toml is valid",
    ]
    tomllib.loads(printed.out)


def test_what_is_given_by_flags_is_shown_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "check", "--provider", "groq", "--upstream-key", "sk-mine") == 0
    printed = capsys.readouterr()
    assert "sk-mine" not in printed.out
    assert 'base_url = "https://api.groq.com/openai/v1"' in printed.out
    assert "# no keys: everyone" in printed.out
    assert printed.err == "the configuration is valid\n"


def test_mistakes_go_to_stderr_and_the_exit_code_is_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "it.toml").write_text('[server]\nprot = 1\nstrict = "maybe"')
    assert ended(monkeypatch, "check", "--config", "it.toml", "--provider", "deepsek") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        '--provider: there is no provider "deepsek" (did you mean deepseek?)',
        "it.toml: server.prot: is not a setting here (did you mean port?)",
        "it.toml: server.strict: must be true or false",
    ]


def test_a_new_key_comes_with_the_table_that_lets_it_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "keys", "create", 'Bob "the key"') == 0
    printed = capsys.readouterr().out
    key, table = printed.splitlines()[2], printed[printed.index("[[keys]]") :]
    (folder / "am-proxy.toml").write_text(table)
    (found,) = load(None, {}, {}).keys
    assert (found.name, found.sha256) == ('Bob "the key"', sha256(key.encode()).hexdigest())
    assert len(key) == len("am-") + 43
    for name in ("", " bob", "b\x1bob", "Guest"):
        assert ended(monkeypatch, "keys", "create", name) == 2
        assert "cannot be the name of a key" in capsys.readouterr().err
