"""The map of the code, in `app/__init__.py` and on the page that shows it, is compared with the folders."""

import re
from pathlib import Path

import app
from tests.support.running import ROOT


def test_how_it_works_shows_the_map_of_the_code(blessed: Path | None) -> None:
    page = ROOT / "docs" / "how-it-works.md"
    shown = f"```text\n{(app.__doc__ or '').strip()}\n```"
    if blessed == page.parent:
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
