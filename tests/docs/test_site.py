"""`make docs`: the pages as a site, which loads nothing from other servers and in which no link is broken."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import pages
from tests.support.running import ROOT

COPIED = ("docs", "deploy", ".github")
BROKEN = ("nowhere.md", "security.md#no-such-heading", "../no-such-file.toml")
"""A page, a heading and a file of the repository that do not exist."""


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The site of the pages below `root`, as the Makefile builds it."""
    target = next(line for line in (ROOT / "Makefile").read_text().splitlines() if "mkdocs build" in line)
    flags = re.findall(r"--[a-z-]+(?: docs/\S+)?", target)
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *" ".join(flags).split(), "--site-dir", str(folder)],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    names = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    assert {"index.html", "pages.html", "http.html", "decisions/index.html", "files/config.example.toml.html"} <= names
    for page in pages():
        if page.parent == ROOT / "docs" and page.name != "README.md":
            assert f"{page.stem}.html" in names


def test_it_loads_nothing_from_other_servers(site: Path) -> None:
    """Links may lead there, but no script, style, font or image comes from there."""
    loaded = [
        address
        for page in site.rglob("*.html")
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text())
        for address in re.findall(r"(?:src|href)=\"?((?:https?:)?//[^\s\">]+)", tag)
    ]
    assert loaded == []
    styles = "".join(style.read_text() for style in site.rglob("*.css"))
    assert re.findall(r"url\((?!data:)[\"']?(?:https?:)?//", styles) == []


def test_the_front_page_is_the_readme_and_its_links_stay_in_the_site(site: Path) -> None:
    text = (site / "index.html").read_text()
    assert 'href="docs/' not in text
    assert 'src="images/flow.svg"' in text
    assert 'href="files/config.example.toml.html"' in text


def test_the_navigation_is_that_of_the_list_of_pages(site: Path) -> None:
    tabs = re.findall(r'class="md-tabs__link">\s*([^<]+?)\s*<', (site / "index.html").read_text())
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE)
    assert [tab for tab in tabs if tab in headings] == headings


def test_the_search_finds_pages_before_decisions(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert len(found) > 300
    boosts = {each["location"].partition("#")[0]: each.get("boost", 1) for each in found}
    assert (boosts["http.html"], boosts["decisions/compaction-items.html"]) == (1, 0.3)
    assert (site / "search" / "search_index.js").exists()  # for a site that is opened from a folder


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tmp_path)
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name)
    for file in ROOT.iterdir():
        if not (tmp_path / file.name).exists():
            (tmp_path / file.name).symlink_to(file)
    with (tmp_path / "docs" / "faq.md").open("a") as faq:
        faq.writelines(f"\n[a link]({link})\n" for link in BROKEN)
    built = build(tmp_path, tmp_path / "built")
    assert built.returncode == 1
    warnings = [line for line in built.stderr.splitlines() if line.startswith("WARNING")]  # each fails a strict build
    assert [[link in line for line in warnings].count(True) for link in BROKEN] == [1, 1, 1], built.stderr
    assert len(warnings) == len(BROKEN)
