"""Words that readers of the pages should not have to learn, and typographic quotation marks."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.snippets import FENCED, pages
from tests.support.running import ROOT

PRIVATE: Final = re.compile(
    r"[«»]|\b(lanes?|anew|beside|is told to|in peace|what is behind|summed up)\b", re.IGNORECASE
)
"""Once used here for `via`, again, next to, sent to, properly, the upstream, and summarized."""
UNUSUAL: Final = re.compile(
    r"with a mistake in it|says every mistake|complete all this|without rights|chance; |report a hole|still hold\b"
    r"|needs care|everything is well|kept nowhere|looks whether|stay as they are",
    re.IGNORECASE,
)
"""Phrases that nobody says."""


def words_in(text: str) -> list[str]:
    """What is found in a page, except in blocks."""
    plain = FENCED.sub("", text)
    return [found[0] for pattern in (PRIVATE, UNUSUAL) for found in pattern.finditer(plain)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_words_that_everybody_knows(page: Path) -> None:
    assert words_in(page.read_text()) == []


def test_quotation_marks_are_those_of_the_keyboard() -> None:
    kinds = (".py", ".js", ".html", ".toml", ".yml", ".yaml", ".md")
    folders = ("docs", "deploy", "bench")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in kinds]
    assert len(files) > 150
    assert [str(file.relative_to(ROOT)) for file in files if re.search("[«»]", file.read_text())] == []


def test_such_words_are_found() -> None:
    assert words_in("On every lane «this» is told to all.\n\n```\nlane\n```\n") == ["lane", "«", "»", "is told to"]
