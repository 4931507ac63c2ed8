"""What README and docs show is true: configurations are valid, commands exist, programs run, links lead somewhere."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from app.cli.main import app
from app.settings.load import load
from tests.docs import configuration_page, fields_page
from tests.support.node import NODE, modules_with
from tests.wire.program import serving

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r'\]\((?!https?:)([^)\s]+)\)|(?:src|href)="(?!https?:|#)([^"]+)"')
KEYS = ("ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY")
URL = "http://127.0.0.1:8080"


class Block(NamedTuple):
    """A block of code of a page."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        """What a test is called."""
        return f"{self.page}:{self.line}"


def blocks(*kinds: str) -> Iterator[Block]:
    """Those in these languages."""
    for page in PAGES:
        whole = page.read_text()
        for found in FENCED.finditer(whole):
            if found[1] in kinds:
                yield Block(page.stem, whole.count("\n", 0, found.start()) + 1, found[2])


@pytest.mark.parametrize("block", list(blocks("toml")), ids=str)
def test_a_configuration_is_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "am-proxy.toml"
    file.write_text(block.text)
    load(file, {}, {name: "0" * 64 for name in {*re.findall(r"env:(\w+)", block.text), *KEYS}})


def test_the_example_is_valid() -> None:
    load(ROOT / "config.example.toml", {}, dict.fromkeys(KEYS, "key"))


@pytest.mark.parametrize("made", [configuration_page, fields_page], ids=lambda made: made.__name__)
def test_a_page_that_is_made_is_up_to_date(made: Any) -> None:
    name = made.__name__.rpartition(".")[2].removesuffix("_page")
    assert (ROOT / "docs" / f"{name}.md").read_text() == made.page()


COMMANDS = [
    line.partition("#")[0].strip()
    for block in blocks("", "sh")
    for line in block.text.splitlines()
    if line.startswith("am-proxy ")
]


@pytest.mark.parametrize("line", sorted(set(COMMANDS)))
def test_a_command_exists_with_its_flags(line: str) -> None:
    words = shlex.split(line)[1:]
    if words == ["--version"]:
        return
    group: Any = typer.main.get_command(app)
    context = group.make_context("am-proxy", words[:1])
    name, command, words = group.resolve_command(context, words)
    if hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, words)
    with command.make_context(name, words, parent=context) as parsed:
        assert parsed.command is command


@pytest.mark.parametrize("block", list(blocks("python")), ids=str)
def test_a_program_runs(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        exec(block.text.replace(URL, url), {"__name__": "__main__"})  # a process for each would import openai again
    assert capsys.readouterr().out.strip()


@pytest.mark.needs("node", "npm:openai", "npm:ai")
@pytest.mark.parametrize("block", list(blocks("js")), ids=str)
def test_a_program_for_node_runs(block: Block, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(modules_with("openai", "ai", "@ai-sdk/openai"))
    with serving() as url:
        (tmp_path / "program.mjs").write_text(block.text.replace(URL, url))
        command = [NODE, "program.mjs"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()


@pytest.mark.parametrize("block", [each for each in blocks("sh") if each.text.startswith("curl")], ids=str)
def test_curl_gets_an_answer(block: Block, tmp_path: Path) -> None:
    with serving() as url:
        command = block.text.replace(URL, url).replace("curl ", "curl --fail --silent --show-error ", 1)
        ran = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, timeout=50, cwd=tmp_path, check=False
        )
    assert ran.returncode == 0, ran.stderr


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in LINK.findall(FENCED.sub("", page.read_text())):
        file, _, anchor = (found[0] or found[1]).partition("#")
        target = page if not file else Path(os.path.normpath(page.parent / file))
        assert target.exists(), file
        assert not anchor or anchor in anchors(target.read_text()), f"{file}#{anchor}"


def test_there_are_as_many_words_as_somebody_reads() -> None:
    words = {page: len(page.read_text().split()) for page in PAGES}
    assert 900 <= words[ROOT / "README.md"] <= 1_200
    assert sum(words.values()) <= 25_000
    assert all(f"docs/{page.name}" in (ROOT / "README.md").read_text() for page in PAGES if page.parent.name == "docs")
