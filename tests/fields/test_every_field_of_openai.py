"""Every member that the `openai` package knows: each lane honours it, passes it on, warns of it or refuses it."""

import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.install import PYTHON
from tests.fields import openai_members
from tests.fields.field_lanes import LANES, Lane
from tests.fields.fields_page import Row, page
from tests.fields.lane_servers import frame_outcome
from tests.support.running import ROOT
from tests.support.serving import serving
from tests.wire.fields.field_samples import MEMBERS, cases

pytestmark = pytest.mark.xdist_group("litellm")

PAGE: Final = ROOT / "docs" / "fields.md"
VERSION: Final[str] = tomllib.loads((ROOT / "tests" / "conformance" / "clients.toml").read_text())["pypi"]["openai"]
CASES: Final = cases()


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Lane]]:
    made = [Lane(name) for name in LANES]
    yield made
    for lane in made:
        lane.close()


@pytest.fixture(scope="module")
def rows(lanes: list[Lane]) -> list[Row]:
    return [Row(case.name, [lane.outcome(case) for lane in lanes]) for case in CASES if not case.frame]


@pytest.mark.needs("the Python clients")
def test_the_list_of_members_is_that_of_the_package(blessed: Path | None) -> None:
    """`--bless tests/wire/fields` adds what a new version of the package has; the diff is then the review."""
    command = [str(PYTHON), str(openai_members.__file__)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if blessed == MEMBERS.parent:
        MEMBERS.write_text(printed)
    assert MEMBERS.read_text() == printed


async def test_the_page_says_what_each_lane_does(rows: list[Row], blessed: Path | None) -> None:
    with serving() as url:
        frames = [Row(case.name, [await frame_outcome(case, url)]) for case in CASES if case.frame]
    told = page([*rows, *frames], list(LANES), VERSION)
    if blessed == PAGE.parent:
        PAGE.write_text(told)
    assert PAGE.read_text() == told
