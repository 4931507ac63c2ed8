"""The list of members is that of the `openai` package, and docs/fields.md shows what becomes of each."""

import subprocess
import tomllib
from typing import Final

import pytest

from tests.conformance.install import PYTHON
from tests.fields import openai_members
from tests.fields.fields_page import page
from tests.support.running import ROOT
from tests.wire.fields.field_samples import MEMBERS, TABLE

PAGE: Final = ROOT / "docs" / "fields.md"
VERSION: Final[str] = tomllib.loads((ROOT / "tests" / "conformance" / "clients.toml").read_text())["pypi"]["openai"]


@pytest.mark.needs("the Python clients")
def test_the_list_of_members_is_that_of_the_package(pytestconfig: pytest.Config) -> None:
    """A new member gets its row with `--bless tests/wire/fields`; the diff is then the review."""
    command = [str(PYTHON), str(openai_members.__file__)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if pytestconfig.getoption("bless") == "tests/wire/fields":
        MEMBERS.write_text(printed)
    assert MEMBERS.read_text() == printed


def test_the_page_shows_the_table(pytestconfig: pytest.Config) -> None:
    told = page(TABLE.read_text(), VERSION)
    if pytestconfig.getoption("bless") == "docs":
        PAGE.write_text(told)
    assert PAGE.read_text() == told
