"""Links of README.md and of the pages of docs/: each leads to a file, and to a heading that is there."""

import re
from pathlib import Path

import pytest

from tests.support.running import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")], key=str)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", text).lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_anchors_are_made_as_github_makes_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `via`, or [two](x.md)\n\n```sh\n# no heading\n```\n\n## LiteLLM's proxy\n\n### `[models.NAME]`\n"
    )
    assert anchors(page) == {"a-via-or-two", "litellms-proxy", "modelsname"}


def test_the_index_lists_every_page() -> None:
    listed = re.findall(r"^\| \[[^]]+\]\(([^)]+)\)", (DOCS / "README.md").read_text(), re.MULTILINE)
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages | {"decisions/README.md"})


def test_every_image_has_a_text_for_those_who_do_not_see_it() -> None:
    images = re.findall(r"!\[([^]]*)\]\(|<img[^>]*?alt=\"([^\"]*)\"", "".join(page.read_text() for page in PAGES))
    assert images
    assert all(markdown or html for markdown, html in images)


def test_no_instruction_installs_the_package_from_an_index() -> None:
    """It is on none, so that somebody else could take its name there: it is installed from its checkout."""
    sources = [*PAGES, *(ROOT / "app").rglob("*.py"), ROOT / "Makefile", ROOT / "config.example.toml"]
    text = "\n".join(source.read_text() for source in sources)
    assert re.findall(r"pip install \.|uvx --from \. am-proxy", text)
    assert (
        re.findall(r"(?:pipx?|uv|tool) install [^`\n#]*am-proxy.*|uvx (?!--from \S*\.)[^`\n#]*am-proxy.*", text) == []
    )
