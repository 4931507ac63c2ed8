"""The files for people who join: they pass their linters, and what they name exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.running import ROOT

BIN = Path(sys.executable).parent
FORGE = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text()
LINTERS = re.findall(r"^\t\$\(BIN\)/((?:check-jsonschema|zizmor) .*)$", MAKEFILE, re.MULTILINE)
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
DOCUMENTS = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")


def workflow(file: Path) -> dict[str, Any]:
    """A workflow. YAML reads the word `on` as true."""
    read: dict[str, Any] = yaml.safe_load(file.read_text())
    return read


@pytest.mark.parametrize("command", LINTERS)
def test_what_make_lint_says_of_the_workflows_and_forms(command: str) -> None:
    ended = subprocess.run(
        ["bash", "-c", f"{BIN}/{command}"],  # noqa: S607 — make's shell
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_file_of_the_forge_is_read_by_a_linter() -> None:
    named = [pattern for command in LINTERS for pattern in shlex.split(command) if pattern.startswith(".github/")]
    read = {file for pattern in named for file in ROOT.glob(pattern)}
    assert set(FORGE.rglob("*.yml")) - read == set()
    assert len(read) == len(WORKFLOWS) + 4


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_is_named_by_its_commit_and_its_version(file: Path) -> None:
    used = re.findall(r"uses: (.*)$", file.read_text(), re.MULTILINE)
    foreign = [line for line in used if not line.startswith("./")]
    assert foreign
    assert [line for line in foreign if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_each_action_is_used_at_one_version() -> None:
    pins = {line for file in WORKFLOWS for line in re.findall(r"uses: (\S+@.*)$", file.read_text(), re.MULTILINE)}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_no_workflow_has_rights_or_secrets_that_it_was_not_given(file: Path) -> None:
    assert workflow(file)["permissions"] == {}
    assert "secrets." not in file.read_text()


@pytest.mark.parametrize("name", ["release.yml", "image.yml"])
def test_nothing_is_published_unless_the_owner_says_so(name: str) -> None:
    jobs = workflow(FORGE / "workflows" / name)["jobs"]
    first = [job for job in jobs.values() if "needs" not in job]
    assert [re.fullmatch(r"vars\.PUBLISH_\w+ == 'true'", job["if"]) is not None for job in first] == [True]
    assert [job["if"] for job in jobs.values() if "if" in job] == [first[0]["if"]]


def test_ci_runs_the_whole_check_on_every_supported_python() -> None:
    jobs = workflow(FORGE / "workflows" / "ci.yml")["jobs"]
    assert jobs["check"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    commands = [step["run"] for name in ("check", "programs") for step in jobs[name]["steps"] if "run" in step]
    steps = re.findall(r"^step (make .*?)(?: #.*)?$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert [command for command in commands if command.startswith("make ")] == [steps[0], steps[1], steps[3], steps[2]]
    assert "command -v chromium" in "\n".join(commands), "without a browser the tests of the page would be skipped"


def test_every_make_command_of_the_workflows_and_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    texts = [file.read_text() for file in (*WORKFLOWS, *(ROOT / name for name in DOCUMENTS))]
    named = {name for text in texts for name in re.findall(r"(?:run: |`|^)make ([a-z-]+)", text, re.MULTILINE)}
    assert named >= {"lint", "test", "build", "package"}
    assert named - targets == set()


def test_help_lists_every_target_once_in_one_column() -> None:
    phony = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split()
    assert len(phony) == len(set(phony))
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607 — whichever make there is
    lines = [re.fullmatch(r"  make ([a-z-]+)( +)(\S.*)", line) for line in shown.splitlines()]
    assert {len(line[1] + line[2]) for line in lines if line} == {15}
    assert {line[1] for line in lines if line} == set(phony) - {"programs"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_that_a_document_names_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]+|[\w-]+\.(?:py|toml|lock|md))`", text)
    found = [path for path in [*links, *paths] if not path.startswith(".venv")]
    assert found or name == "CODE_OF_CONDUCT.md"
    assert [path for path in found if not (ROOT / path).exists()] == []


def test_the_map_of_contributing_names_every_folder() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607 — whichever git there is
    folders = {line.split("/")[0] for line in tracked.splitlines() if "/" in line}
    assert set(listed) == {folder for folder in folders if not folder.startswith(".")}


def test_the_hooks_before_a_commit_run_the_tools_of_the_checkout() -> None:
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    tools = [entry.split()[0].removeprefix(".venv/bin/") for entry in entries]
    assert [tool for tool in tools if not (BIN / tool).exists()] == []
