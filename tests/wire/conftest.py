"""The stage of all cases, and the flag that writes golden files."""

import pytest

from tests.wire.blessing import blessed, pytest_addoption, pytest_configure  # noqa: F401 — hooks and a fixture
from tests.wire.cases import Stage


@pytest.fixture(scope="session")
def stage() -> Stage:
    """One for the run."""
    return Stage()
