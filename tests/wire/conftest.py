"""The stage of all cases, the flag that writes golden files, and the list of cases that wait."""

from pathlib import Path

import pytest

from tests.wire import blessing
from tests.wire.blessing import blessed, pytest_configure  # noqa: F401 — a hook and a fixture
from tests.wire.cases import Stage


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--waiting FILE`: cases that a program that is being written does not pass yet. One that passes is a failure."""
    blessing.pytest_addoption(parser)
    parser.addoption("--waiting", metavar="FILE", help="tests that wait, one a line")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what waits."""
    chosen = config.getoption("waiting", None)
    listed = set(Path(chosen).read_text(encoding="utf-8").splitlines()) if chosen else set()
    for item in items:
        if item.nodeid.rpartition("/")[2] in listed:
            item.add_marker(pytest.mark.xfail(reason="it waits", strict=True))


@pytest.fixture(scope="session")
def stage(pytestconfig: pytest.Config) -> Stage:
    """One for the run."""
    return Stage(is_next=pytestconfig.getoption("waiting", None) is not None)
