"""Every fenced block of every page is run here, or read by whoever would read it. A block that no rule fits fails."""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from app.__main__ import main
from app.providers.lookup import PROVIDERS
from tests.docs.shell_commands import DRIVEN, URL, check_block, check_command, commands
from tests.docs.snippets import Snippet, inline_commands, pages, snippets, way_of
from tests.support.node import NODE, modules_with
from tests.support.python_programs import PythonPrograms, python_programs
from tests.support.running import ROOT, Running, running, surroundings

SNIPPETS = list(snippets())
CODEX_KEYS = {
    "name", "base_url", "wire_api", "env_key", "model_catalog_url", "supports_websockets",
    "supports_standalone_web_search",
}  # fmt: skip


def in_way(way: str) -> pytest.MarkDecorator:
    """The blocks that are checked in one way, marked with the programs that this takes."""
    found = [
        pytest.param(each, id=each.name, marks=[pytest.mark.needs(program) for program in driven(each, way)])
        for each in SNIPPETS
        if way_of(each) == way
    ]
    return pytest.mark.parametrize("snippet", found)


def driven(snippet: Snippet, way: str) -> list[str]:
    """The programs."""
    if way == "node":
        return ["node", *(f"npm:{name}" for name in imported(snippet))]
    return sorted(DRIVEN & {words[0] for words in commands(snippet.text)}) if way == "shell" else []


def imported(snippet: Snippet) -> list[str]:
    """The packages that a program for Node imports."""
    return re.findall(r'^import .* from "(.*)";$', snippet.text, re.MULTILINE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(folder=tmp_path_factory.mktemp("folder")) as started:
        yield started


@pytest.fixture(scope="module")
def python() -> Iterator[PythonPrograms]:
    with python_programs() as programs:
        yield programs


def run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(
        command, cwd=folder, env=surroundings(), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def at(server: Running, text: str) -> str:
    """The text for a server on another port."""
    return text.replace(URL, server.url.removesuffix("/v1"))


def test_every_block_has_a_row_in_the_table() -> None:
    assert len(SNIPPETS) > 30
    assert [each.name for each in SNIPPETS if way_of(each) is None] == []


@in_way("compile")
def test_a_program_that_runs_elsewhere_is_python(snippet: Snippet) -> None:
    compile(snippet.text, snippet.name, "exec")


@in_way("python")
def test_a_python_program_runs_and_prints(
    snippet: Snippet, server: Running, python: PythonPrograms, tmp_path: Path
) -> None:
    assert python.run(at(server, snippet.text), tmp_path).strip()


@in_way("node")
def test_a_javascript_program_runs_and_prints(snippet: Snippet, server: Running, tmp_path: Path) -> None:
    (tmp_path / "program.mjs").write_text(at(server, snippet.text))
    (tmp_path / "node_modules").symlink_to(modules_with(*imported(snippet)))
    assert run([NODE, "program.mjs"], tmp_path).strip()


@in_way("shell")
def test_the_shell_commands_run_or_are_understood(snippet: Snippet, server: Running, tmp_path: Path) -> None:
    check_block(snippet.text, tmp_path, server.url.removesuffix("/v1"))


@pytest.mark.parametrize(("page", "command"), list(inline_commands()))
def test_a_command_within_a_sentence_is_understood(page: str, command: str) -> None:
    del page
    if "…" not in command:
        check_command(shlex.split(command))


TESTED_ELSEWHERE = {"serve", "launch"}
"""Commands that need a server, a person or files."""


def runnable() -> list[list[str]]:
    """The arguments of each `am-proxy …` that ends by itself, without asking anybody anything."""
    inline = [shlex.split(command) for _, command in inline_commands() if "…" not in command]
    fenced = [words for each in SNIPPETS if way_of(each) == "shell" for words in commands(each.text)]
    found = {tuple(words[1:]) for words in (*inline, *fenced) if Path(words[0]).name == "am-proxy"}
    return [list(words) for words in sorted(found) if words and words[0] not in TESTED_ELSEWHERE]


@pytest.mark.parametrize("arguments", runnable(), ids=" ".join)
def test_a_command_that_ends_by_itself_succeeds(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder without a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        code = main(arguments)
    except SystemExit as end:  # --version
        code = int(end.code or 0)
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert printed.out.strip() + printed.err.strip()


@in_way("settings")
def test_the_settings_have_no_mistake(
    snippet: Snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command that says so, which also knows litellm's providers."""
    named = re.findall(r'"env:(\w+)"', snippet.text) + [each.key_variable for each in PROVIDERS if each.key_variable]
    for name in named:
        monkeypatch.setenv(name, "a-key-of-more-than-32-characters-for-tests")
    (tmp_path / "config.toml").write_text(snippet.text)
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 0, capsys.readouterr().err


@in_way("codex")
def test_the_settings_of_codex_lead_here(snippet: Snippet) -> None:
    settings = tomllib.loads(snippet.text)
    assert settings["model_providers"]
    for provider in settings["model_providers"].values():
        assert provider.keys() <= CODEX_KEYS
        assert provider.get("base_url", f"{URL}/v1") == f"{URL}/v1"
        assert provider.get("model_catalog_url", f"{URL}/v1/models") == f"{URL}/v1/models"
        assert provider.get("wire_api", "responses") == "responses"
    assert settings.get("model_provider", "am") in settings["model_providers"]


@in_way("json")
def test_the_error_is_one_that_the_server_sends(snippet: Snippet, server: Running) -> None:
    shown = json.loads(snippet.text)
    path = shown["error"]["param"]
    assert path == "input[0].role"
    body = {"model": "demo", "input": [{"role": "nobody", "content": "Hi"}]}
    sent = httpx.post(f"{server.url}/responses", json=body, timeout=20).json()
    assert sent["error"].pop("message")
    assert sent == {"error": {name: value for name, value in shown["error"].items() if name != "message"}}


@in_way("yaml")
def test_the_yaml_is_a_mapping(snippet: Snippet) -> None:
    assert isinstance(yaml.safe_load(snippet.text), dict)


@pytest.mark.parametrize(
    "command",
    [
        *("am-proxy serve --prot 9", "am-proxy serv", "make srve", "some-program --flag"),
        pytest.param("docker run --read-onl x", marks=pytest.mark.needs("docker")),
    ],
)
def test_a_command_with_a_mistake_is_noticed(command: str) -> None:
    """The checks above can fail."""
    with pytest.raises((AssertionError, SystemExit)):
        check_command(shlex.split(command))


def test_the_commands_of_a_block_are_found() -> None:
    text = "A=1 am-proxy check && make test  # both\ncurl -d '{\"a\": 1}' \\\n  http://x | jq . > file\n"
    found = list(commands(text))
    assert [words[0] for words in found] == ["am-proxy", "make", "curl", "jq"]
    assert found[2][-1] == "http://x"


def test_the_pages_are_those_of_the_repository() -> None:
    assert {"README.md", "docs/clients.md", "docs/decisions/README.md"} <= {
        str(page.relative_to(ROOT)) for page in pages()
    }
