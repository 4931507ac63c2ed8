"""The fenced blocks of every page, and the table that says how each of them is checked."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.running import ROOT

FENCED: Final = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
INLINE: Final = re.compile(r"(?<!`)`((?:am-proxy|make) [^`\n]*)`(?!`)")


class Snippet(NamedTuple):
    """One fenced block of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """How a failing test names it."""
        return f"{self.page}-{self.number}"


class Row(NamedTuple):
    """How blocks of these pages and languages with this text are checked. The first row that fits decides."""

    pages: str
    languages: tuple[str, ...]
    text: str
    """A regular expression that is found in the block."""
    way: str


SHELL: Final = ("", "sh", "bash", "console")
TABLE: Final = (
    # Measured elsewhere: a run of the container needs a builder and minutes.
    Row("docs/container.md", ("",), r"^PASS  hadolint", "shown"),
    # Compared with the docstring by test_pages.
    Row("docs/how-it-works.md", ("text",), r"^AM Proxy: any", "shown"),
    # Compared with a terminal by test_terminal_output.
    Row("docs/*.md", ("text",), r"^\$ am-proxy doctor", "shown"),
    # Made from transcripts by tests/docs/http_reference.py.
    Row("docs/http.md", ("text",), r"^response\.created", "shown"),
    Row("docs/watching.md", ("text",), r"^18:46:41  200 ", "shown"),
    # `make conformance` runs these clients, each in an environment of its own.
    Row("docs/clients.md", ("python",), r"import ChatOpenAI|from pydantic_ai import", "compile"),
    # Run by tests/test_readme.py, which also compares what they print.
    Row("README.md", ("python",), "", "readme"),
    Row("*", ("python",), "", "python"),
    Row("*", ("js",), "", "node"),
    Row("*", SHELL, "", "shell"),
    Row("*", ("toml",), r"^\[model_providers\.|^model_provider ", "codex"),
    Row("*", ("toml",), "", "settings"),
    Row("*", ("json",), "", "json"),
    Row("*", ("yaml",), "", "yaml"),
)


def pages() -> list[Path]:
    """Every page that a reader may open: those of the root, of docs/, deploy/ and .github/."""
    found = [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "deploy", ".github") for page in (ROOT / folder).rglob("*.md")),
    ]
    return sorted(found)


def snippets() -> Iterator[Snippet]:
    """Every fenced block, without the indentation of a list around it."""
    for page in pages():
        for number, (indent, language, text) in enumerate(FENCED.findall(page.read_text()), 1):
            plain = re.sub(f"^{indent}", "", text, flags=re.MULTILINE) if indent else text
            yield Snippet(str(page.relative_to(ROOT)), number, language, plain)


def inline_commands() -> Iterator[tuple[str, str]]:
    """Each `am-proxy …` and `make …` within a sentence, with its page. The changelog also names what is gone."""
    for page in pages():
        if page.name == "CHANGELOG.md":
            continue
        text = FENCED.sub("", page.read_text())
        yield from dict.fromkeys((str(page.relative_to(ROOT)), command) for command in INLINE.findall(text))


def way_of(snippet: Snippet) -> str | None:
    """How this block is checked; None if no row fits."""
    for row in TABLE:
        fits = fnmatch(snippet.page, row.pages) and snippet.language in row.languages
        if fits and re.search(row.text, snippet.text, re.MULTILINE):
            return row.way
    return None
