"""What every test shares: how hard properties are tried, which programs a test needs, and the flag of golden files."""

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import certifi
import pytest
from hypothesis import settings

from tests.support.codex import Codex
from tests.support.node import modules_with
from tests.support.programs import is_there
from tests.wire.blessing import blessed, pytest_addoption, pytest_configure  # noqa: F401 — hooks and a fixture

NEEDED: Final = {
    "browser": ("chromium",),
    "codex": ("node", "npm:@openai/codex"),
}
"""The programs that a test needs because it has this fixture."""

# a busy machine is no fault of the code, and a check that passed passes again; `deep` is for looking further
settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("deep", deadline=None, max_examples=3000)
settings.load_profile("quick")

_configuration = tempfile.TemporaryDirectory()
os.environ["XDG_CONFIG_HOME"] = _configuration.name  # a developer's own is not for the tests

# each of a thousand clients of httpx reads all authorities, which takes 20 ms; no test asks the internet: one is enough
_authority = Path(_configuration.name, "authority.pem")
_authority.write_text("".join(certifi.contents().partition("-----END CERTIFICATE-----\n")[:2]))
os.environ["SSL_CERT_FILE"] = str(_authority)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Before `-m` chooses."""
    for fixture in NEEDED.keys() & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.needs(*NEEDED[fixture]))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The one place where a test is skipped because a program is missing."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if not is_there(program):
                pytest.skip(f"{program} is not installed")


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A server that a test starts here sets up the log for itself; the next test has another stderr."""
    root, ours = logging.getLogger(), logging.getLogger("am_proxy")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(modules_with("@openai/codex"), tmp_path)
