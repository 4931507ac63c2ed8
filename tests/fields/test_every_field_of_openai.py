"""Every member that the `openai` package knows: each lane honours it, passes it on, warns of it or refuses it."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from typing import Final

import pytest

from tests.conformance.install import PYTHON
from tests.fields import openai_members
from tests.fields.field_lanes import LANES, Lane
from tests.fields.field_samples import ELSEWHERE, MEMBERS, TABLE, cases
from tests.fields.fields_page import Row, page
from tests.fields.lane_servers import frame_outcome
from tests.fields.quiet_fields import REASONS, reason
from tests.support.running import ROOT
from tests.support.serving import serving

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


@pytest.mark.skipif(not PYTHON.is_file(), reason="the clients of `make conformance` are not installed")
def test_the_list_of_members_is_that_of_the_package(pytestconfig: pytest.Config) -> None:
    """A member that a new version of the package has gets its row with `--bless`; the diff is then the review."""
    command = [str(PYTHON), str(openai_members.__file__)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if pytestconfig.getoption("bless"):
        MEMBERS.write_text(printed)
    assert MEMBERS.read_text() == printed


async def test_the_table_says_what_each_lane_does(rows: list[Row], pytestconfig: pytest.Config) -> None:
    with serving() as url:
        frames = [Row(case.name, [await frame_outcome(case, url)]) for case in CASES if case.frame]
    table = "".join(f"{row.name}: {', '.join(row.words)}\n" for row in (*rows, *frames))
    told = page([*rows, *frames], list(LANES), VERSION)
    if pytestconfig.getoption("bless"):
        TABLE.write_text(table)
        PAGE.write_text(told)
    assert TABLE.read_text() == table
    assert PAGE.read_text() == told


def test_whatever_has_no_effect_without_a_warning_has_a_reason(rows: list[Row]) -> None:
    quiet = [row.name for row in rows if "quiet" in row.words]
    assert [name for name in quiet if not reason(name)] == []
    used = {reason(name) for name in quiet}
    assert used == set(REASONS.values())


def test_a_refusal_or_a_warning_names_what_it_is_about(rows: list[Row]) -> None:
    """By its name, or by the path of the item, part or tool that holds it."""
    for row in rows:
        what, _, path = row.name.partition(":")
        names = {path, *path.split("."), f"{what}[", "input[", "tools[", "tool_choice"}
        for outcome in row.outcomes:
            if outcome.word in {"refused", "warned"}:
                assert any(name in outcome.sentence for name in names), row


def test_other_specifications_add_only_what_the_package_lacks() -> None:
    known = {json.loads(line)["name"] for line in MEMBERS.read_text().splitlines()}
    assert set(ELSEWHERE) & known == {"item:configuration_update"}
