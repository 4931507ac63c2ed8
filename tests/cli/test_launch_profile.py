"""`am-proxy launch AGENT --write` and `--restore`."""

import json
import os
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.support.launching import MODELS, Home
from tests.support.surveyed_server import SurveyedServer, ollama
from tests.wire.script import text_turn


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture
def server() -> Iterator[SurveyedServer]:
    with SurveyedServer(ollama(MODELS), text_turn("Hello")) as made:
        yield made


def test_codex_gets_a_profile_of_its_own_which_can_be_removed(home: Home, server: SurveyedServer) -> None:
    home.install()
    before = home.files()
    ran = home.launch("codex", "--upstream", server.url, "--port", "23999", "--write")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == (
        "written:  ~/.codex/am.config.toml\n"
        "written:  ~/.codex/am.models.json\n"
        f"serve:    am-proxy serve --upstream {server.url} --port 23999\n"
        "start:    codex --profile am\n"
        "remove:   am-proxy launch codex --restore\n"
    )
    assert not home.seen_file.exists()  # nothing was started
    written = home.files()
    profile = tomllib.loads(written[".codex/am.config.toml"])
    assert profile == {
        "model": "coder:8b",
        "model_provider": "am",
        "model_catalog_json": str(home.folder / "home/.codex/am.models.json"),
        "model_providers": {
            "am": {"name": "AM Proxy", "base_url": "http://127.0.0.1:23999/v1", "wire_api": "responses"}
        },
    }
    catalogue = json.loads(written[".codex/am.models.json"])
    assert [entry["slug"] for entry in catalogue["models"]] == ["small:1b", "coder:8b", "seer:30b"]
    assert home.launch("codex", "--upstream", server.url, "--write").returncode == 0  # again, for another port
    assert "http://127.0.0.1:8080/v1" in home.files()[".codex/am.config.toml"]
    ran = home.launch("codex", "--restore")
    assert (ran.returncode, ran.stdout) == (0, "removed: ~/.codex/am.config.toml\nremoved: ~/.codex/am.models.json\n")
    assert home.files() == before
    ran = home.launch("codex", "--restore")
    assert (ran.returncode, ran.stdout) == (0, "nothing to remove: there is no ~/.codex/am.config.toml\n")


def test_a_file_of_the_user_is_neither_replaced_nor_removed(home: Home, server: SurveyedServer) -> None:
    home.install()
    (home.folder / "home/.codex/am.config.toml").write_text('model = "mine"\n')
    before = home.files()
    ran = home.launch("codex", "--upstream", server.url, "--write")
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        1,
        "",
        "am-proxy: cannot launch Codex: ~/.codex/am.config.toml exists and was not written by am-proxy: move it away\n",
    )
    ran = home.launch("codex", "--restore")
    assert ran.stdout == "kept, because am-proxy did not write it: ~/.codex/am.config.toml\n"
    assert home.files() == before


@pytest.mark.parametrize("kind", ["a link to nothing", "a link to a file of ours", "a pipe"])
def test_what_is_no_plain_file_is_the_users(home: Home, server: SurveyedServer, kind: str) -> None:
    home.install()
    path = home.folder / "home/.codex/am.config.toml"
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        target = home.folder / "elsewhere"
        if kind == "a link to a file of ours":
            target.write_text("# Written by am-proxy launch codex --write\n")
        path.symlink_to(target)
    before = path.lstat()
    ran = home.launch("codex", "--upstream", server.url, "--write")
    assert (ran.returncode, "exists and was not written by am-proxy: move it away" in ran.stderr) == (1, True)
    ran = home.launch("codex", "--restore")
    assert ran.stdout == "kept, because am-proxy did not write it: ~/.codex/am.config.toml\n"
    assert path.lstat().st_ino == before.st_ino


def test_a_codex_that_would_ignore_the_profile_gets_none(home: Home, server: SurveyedServer) -> None:
    home.install(version="0.120.0")
    ran = home.launch("codex", "--upstream", server.url, "--write")
    assert (ran.returncode, "it is version 0.120.0, and 0.136 or newer is needed" in ran.stderr) == (1, True)


def test_opencode_gets_a_file_that_a_variable_names(home: Home, server: SurveyedServer) -> None:
    home.install(name="opencode", version="1.18.33")
    before = home.files()
    flags = ["--upstream", server.url, "--upstream-key", "sk-secret"]
    ran = home.launch("opencode", *flags, "--write", environ={"AM_KEY": "sk-alice"})
    file = home.folder / "home/.config/opencode/am-proxy.jsonc"
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == (
        "written:  ~/.config/opencode/am-proxy.jsonc\n"
        f"serve:    am-proxy serve --upstream {server.url} --upstream-key KEY\n"
        "key:      in the environment variable AM_KEY\n"
        f"start:    OPENCODE_CONFIG={file} opencode\n"
        "remove:   am-proxy launch opencode --restore\n"
    )
    mark, _, text = file.read_text().partition("\n")
    assert re.match("// Written by am-proxy launch", mark)
    settings = json.loads(text)
    assert (settings["model"], settings["enabled_providers"]) == ("am/coder:8b", ["am"])
    assert settings["provider"]["am"]["options"]["apiKey"] == "{env:AM_KEY}"
    assert home.launch("opencode", "--restore").returncode == 0
    assert home.files() == before
