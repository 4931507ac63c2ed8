# ruff: noqa: INP001 — MkDocs loads it by its path
"""Hooks of the documentation site: what is outside of docs/ is brought in, and links to it are changed.

README.md becomes the front page, docs/README.md the list of pages, and other pages of the repository's root keep their
names. A file or folder that a page links to, such as a configuration, is shown on a page of its own.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
FRONT: Final = "README.md"
INDEX: Final = "docs/README.md"
LINK: Final = re.compile(
    r"(?P<before>\]\(|\b(?:src|href)=\")(?P<path>(?![a-z]+:|#|/)[^)\s\"#]+)(?P<anchor>#[^)\s\"]*)?"
)
CODE: Final = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
LANGUAGES: Final = {
    ".toml": "toml",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".json": "json",
    ".py": "python",
    ".conf": "nginx",
}
MINOR: Final = ("decisions/", "files/", "CHANGELOG")
"""How pages begin that the search finds after others."""
MOST: Final = 40_000
"""Characters of one file that are shown."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the navigation from the tables of docs/README.md."""
    nav: list[dict[str, Any]] = [{"Start": "index.md"}]
    for heading, body in re.findall(
        r"^## (.+?)$(.*?)(?=^## |\Z)", (ROOT / INDEX).read_text(), re.MULTILINE | re.DOTALL
    ):
        pages = [
            uri_of(_repository_path(INDEX, link))
            for link in re.findall(r"^\| \[[^]]+\]\(([^)#]+)\)", body, re.MULTILINE)
        ]
        if pages:
            nav.append({heading: pages})
    nav.append({"All pages": "pages.md"})
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the root, and a page for each file or folder that is linked to and is no page."""
    old = files.get_file_from_path("README.md")
    if old is not None:
        files.remove(old)
    pages = [page.name for page in ROOT.glob("*.md")] + [INDEX]
    for path in pages:
        files.append(File.generated(config, uri_of(path), content=(ROOT / path).read_text()))
    inside = [f"docs/{file.src_uri}" for file in files.documentation_pages() if f"docs/{file.src_uri}" != INDEX]
    shown: set[str] = set()
    for path in [*pages, *(each for each in inside if (ROOT / each).is_file())]:
        for link in LINK.finditer("".join(_prose((ROOT / path).read_text()))):
            target = _repository_path(path, link["path"])
            if not target.startswith("docs/") and not target.endswith(".md") and (ROOT / target).exists():
                shown.add(target)
    for target in sorted(shown):
        files.append(File.generated(config, uri_of(target), content=_shown(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Changes the links between files of the repository to links between pages of the site."""
    del config
    uri = page.file.src_uri
    if uri.startswith(MINOR):
        page.meta["search"] = {"boost": 0.3}
    path = _repository_of(uri)

    def replaced(link: re.Match[str]) -> str:
        target = uri_of(_repository_path(path, link["path"]))
        if files.get_file_from_path(target) is None:
            return link[0]  # the strict build says that it is broken
        return f"{link['before']}{posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link['anchor'] or ''}"

    parts = CODE.split(markdown)
    return "".join(part if index % 2 else LINK.sub(replaced, part) for index, part in enumerate(parts))


def uri_of(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path in {FRONT, INDEX}:
        return {FRONT: "index.md", INDEX: "pages.md"}[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path.endswith(".md") else f"files/{path.replace('/.', '/').removeprefix('.')}.md"


def _repository_of(uri: str) -> str:
    """The file of the repository from which a page of the site is made."""
    own = {"index.md": FRONT, "pages.md": INDEX}
    if uri in own:
        return own[uri]
    return uri if (ROOT / uri).is_file() else f"docs/{uri}"


def _repository_path(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _prose(text: str) -> Iterator[str]:
    """The text without its code."""
    yield from CODE.split(text)[::2]


def _shown(target: str) -> str:
    """A page with the content of a file, or of every file of a folder."""
    path = ROOT / target
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    blocks = []
    for file in files:
        text = file.read_text(errors="replace")[:MOST].rstrip()
        heading = f"## {file.relative_to(path)}\n\n" if path.is_dir() else ""
        blocks.append(f"{heading}````{LANGUAGES.get(file.suffix, 'text')}\n{text}\n````\n")
    return f"# {target}\n\n" + "\n".join(blocks)
