"""What the pages of docs/ say of settings, answers, decisions and the code is compared with them."""

import re
import tomllib
from pathlib import Path

import pytest

import app
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


def test_how_it_works_shows_the_map_of_the_code(pytestconfig: pytest.Config) -> None:
    page = DOCS / "how-it-works.md"
    shown = f"```text\n{(app.__doc__ or '').strip()}\n```"
    if pytestconfig.getoption("bless"):
        page.write_text(re.sub(r"```text\n.*?\n```", lambda _: shown, page.read_text(), flags=re.DOTALL))
    assert shown in page.read_text()


def test_the_map_names_every_room_and_module_once_and_no_other() -> None:
    map_, walk = (app.__doc__ or "").split("The map\n-------\n")[1].split("The walk\n--------\n")
    named = [name for line in map_.splitlines() for name in re.findall(r"\S+", line[:24])]
    rooms = [f"{path.name}/" for path in (ROOT / "app").iterdir() if (path / "__init__.py").exists()]
    modules = [path.name for path in (ROOT / "app").glob("*.py") if path.name != "__init__.py"]
    assert sorted(name.rstrip(",") for name in named) == sorted(rooms + modules)

    stations = re.findall(r"[a-z_]+/[a-z_/]+", walk.split("`docs/decisions/`")[0])
    assert len(stations) > 10
    assert [
        station
        for station in stations
        if not any((ROOT / "app" / folder / f"{station}.py").exists() for folder in ("", "dialects"))
    ] == []
