"""The flag that writes golden files, for any conftest.py that imports these three."""

import os
from contextlib import suppress
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless FOLDER`: the diff is then the review."""
    with suppress(ValueError):  # another conftest.py has it
        parser.addoption("--bless", metavar="FOLDER", help="write the golden files of one folder, or one file")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to bless where nobody reads what is written."""
    chosen = config.getoption("bless")
    if chosen and not Path(chosen).exists():
        raise pytest.UsageError(f"--bless {chosen}: there is no such folder")
    if chosen and os.environ.get("CI"):
        raise pytest.UsageError("--bless is for a person who reads what it writes; it is refused where CI is set")


@pytest.fixture
def blessed(request: pytest.FixtureRequest) -> Path | None:
    """The folder whose golden files are written."""
    chosen = request.config.getoption("bless")
    return Path(chosen).resolve() if chosen else None
