"""Blocks of the pages for clients that are not among our packages: `make test-all` installs them."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.conformance.install import PYTHON
from tests.docs.shell_commands import URL
from tests.docs.snippets import Snippet, snippets, way_of
from tests.support.codex import Codex
from tests.support.running import surroundings
from tests.support.serving import serving

BASE: Final = next(each.text for each in snippets() if way_of(each) == "codex" and "wire_api" in each.text)
"""The block that others of Codex's configuration add a line to."""


def in_way(way: str) -> pytest.MarkDecorator:
    """The blocks that are checked in one way."""
    return pytest.mark.parametrize(
        "snippet", [pytest.param(each, id=each.name) for each in snippets() if way_of(each) == way]
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server on which each model that a page names is the scripted one."""
    names = {
        "demo",
        *(found for each in snippets() for found in re.findall(r'^model = "(.*?)"', each.text, re.MULTILINE)),
    }
    demo = {"demo": Upstream(via="demo")}
    with serving(Settings(upstreams=demo, models={name: Model(upstream="demo") for name in sorted(names)})) as address:
        yield address


@pytest.mark.needs("the Python clients")
@in_way("compile")
def test_a_program_of_another_client_runs_and_prints(snippet: Snippet, url: str, tmp_path: Path) -> None:
    program = snippet.text.replace(URL, url)
    command = [str(PYTHON), "-c", program]
    ended = subprocess.run(
        command, cwd=tmp_path, env=surroundings(), capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("I am demo")


@in_way("codex")
def test_codex_answers_with_the_configuration_of_the_page(snippet: Snippet, url: str, codex: Codex) -> None:
    text = snippet.text
    if "base_url" not in text:
        text = BASE + text.partition("]\n")[2]  # "with one more line"
    settings = tomllib.loads(text)
    codex.work.mkdir()
    (codex.folder / "config.toml").write_text(text.replace(URL, url))
    if catalogue := settings.get("model_catalog_json"):
        listed = httpx.get(f"{url}/v1/models?client_version=0.169.0", timeout=10)
        (codex.folder / catalogue).write_text(listed.text)
    ran = codex.run("Hello!")
    assert (ran.code, ran.errors) == (0, []), ran.stderr
    assert ran.said[-1].startswith("I am demo")
