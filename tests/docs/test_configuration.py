from pathlib import Path

from tests.docs import configuration
from tests.support.running import ROOT

PAGE: Path = ROOT / "docs" / "configuration.md"


def test_the_page_names_every_setting_as_the_code_has_it(blessed: Path | None) -> None:
    if blessed == PAGE.parent:
        PAGE.write_text(configuration.page())
    assert PAGE.read_text() == configuration.page()


def test_every_setting_is_explained() -> None:
    """By the text under it in the code."""
    silent = [line for line in configuration.page().splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert silent == []
