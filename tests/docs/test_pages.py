"""What the pages of docs/ say of settings, answers, decisions and the code is compared with them."""

import re
import tomllib
from pathlib import Path

from app.protocol.problems import ERROR_SHAPES
from app.settings import load
from tests.support.running import ROOT

DOCS = ROOT / "docs"


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
