"""What the pages of docs/ show is run here, or read by whoever would read it."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.__main__ import main
from app.protocol.problems import ERROR_SHAPES
from app.providers.lookup import PROVIDERS
from app.settings import load
from tests.support.running import ROOT, Running, running, surroundings

URL = "http://127.0.0.1:8080"
DOCS = ROOT / "docs"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("langchain", "pydantic_ai")
"""Packages that are run by `make conformance`, each in an environment of its own."""


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks in one language."""
    text = (DOCS / page).read_text()
    return [
        block
        for name, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if name == language
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(folder=tmp_path_factory.mktemp("folder")) as started:
        yield started


def run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(
        command, cwd=folder, env=surroundings(), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("program", [*blocks("clients.md", "python"), *blocks("migrating.md", "python")])
def test_the_python_programs_run(program: str, server: Running, tmp_path: Path) -> None:
    compile(program, "a page", "exec")
    if any(package in program for package in ELSEWHERE):
        pytest.skip("it is compiled here; make conformance runs this client")
    assert run([sys.executable, "-c", program.replace(f"{URL}/v1", server.url)], tmp_path).strip()


@pytest.mark.parametrize("command", blocks("clients.md", "sh"))
def test_the_curl_commands_answer(command: str, server: Running, tmp_path: Path) -> None:
    assert "response.completed" in run(["bash", "-ec", command.replace(f"{URL}/v1", server.url)], tmp_path)


@pytest.mark.parametrize("program", blocks("clients.md", "js"))
def test_the_javascript_programs_can_be_read(program: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    (tmp_path / "program.mjs").write_text(program)
    run([node, "--check", "program.mjs"], tmp_path)


@pytest.mark.parametrize("text", [*blocks("providers.md", "toml"), *blocks("migrating.md", "toml")])
def test_the_providers_are_configured_without_a_mistake(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command that says so, which also knows litellm's providers."""
    for name in re.findall(r'"env:(\w+)"', text):
        monkeypatch.setenv(name, "a-key")
    for provider in PROVIDERS:
        if provider.key_variable:
            monkeypatch.setenv(provider.key_variable, "a-key")
    (tmp_path / "config.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 0, capsys.readouterr().err


PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md"], key=str)
SNIPPETS = [
    pytest.param(language, text, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, (language, text) in enumerate(FENCED.findall(page.read_text()), 1)
]


@pytest.mark.parametrize(("language", "text"), SNIPPETS)
def test_every_snippet_is_what_it_says_it_is(language: str, text: str) -> None:
    """Those that are not run by a test are read at least by whoever would run them."""
    match language:
        case "python":
            compile(text, "snippet", "exec")
        case "toml":
            tomllib.loads(text)
        case "json":
            json.loads(text)
        case "sh":
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)  # noqa: S607 — the reader's shell
        case "" if not text.startswith("PASS"):
            subprocess.run(["bash", "-n"], input=text, text=True, check=True)  # noqa: S607 — as above
        case _:
            assert language in {"", "js", "text"}


def test_every_setting_that_a_page_names_exists(tmp_path: Path) -> None:
    example = tomllib.loads((ROOT / "config.example.toml").read_text())
    known = {key for table in (example["server"], *example["keys"]) for key in table}
    known |= {key for tables in (example["upstreams"], example["models"]) for table in tables.values() for key in table}
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?: = [^`]*)?`", (DOCS / "troubleshooting.md").read_text()))
    words = {"previous_response_id", "item_reference", "encrypted_content", "model_catalog_json", *ERROR_SHAPES}
    assert sorted(named - known - words) == []
    load({}, {}, tmp_path)


def test_every_answer_of_the_symptoms_is_one_that_is_given() -> None:
    result = re.findall(r"^\| `(\d{3}) (\w+)`", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    assert result != []
    assert {code: int(status) for status, code in result} == {code: ERROR_SHAPES[code].status for _, code in result}


def test_the_index_of_decisions_lists_each_one_once_under_its_title() -> None:
    folder = DOCS / "decisions"
    listed = re.findall(r"^- \[(.*)\]\((.*)\)$", (folder / "README.md").read_text(), re.MULTILINE)
    titles = {page.name: page.read_text().splitlines()[0] for page in folder.glob("*.md") if page.name != "README.md"}
    assert sorted((name, f"# {title}") for title, name in listed) == sorted(titles.items())


def test_how_it_works_shows_the_map_of_the_code(pytestconfig: pytest.Config) -> None:
    page = DOCS / "how-it-works.md"
    shown = f"```text\n{(app.__doc__ or '').strip()}\n```"
    if pytestconfig.getoption("bless"):
        page.write_text(re.sub(r"```text\n.*?\n```", lambda _: shown, page.read_text(), flags=re.DOTALL))
    assert shown in page.read_text()


def test_the_map_names_every_room_and_module_once_and_no_other() -> None:
    map_, walk = (app.__doc__ or "").split("The map\n-------\n")[1].split("The walk\n--------\n")
    named = [name for line in map_.splitlines() for name in re.findall(r"\S+", line[:24])]
    rooms = [f"{path.name}/" for path in (ROOT / "app").iterdir() if (path / "__init__.py").exists()]
    modules = [path.name for path in (ROOT / "app").glob("*.py") if path.name != "__init__.py"]
    assert sorted(name.rstrip(",") for name in named) == sorted(rooms + modules)

    stations = re.findall(r"[a-z_]+/[a-z_/]+", walk.split("`docs/decisions/`")[0])
    assert len(stations) > 10
    assert [
        station
        for station in stations
        if not any((ROOT / "app" / folder / f"{station}.py").exists() for folder in ("", "dialects"))
    ] == []
