"""What every test shares: how hard properties are tried, which programs a test needs, and the flag of golden files."""

import gc
import logging
import os
import ssl
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

from tests.support.codex import Codex
from tests.support.node import modules_with
from tests.support.programs import is_there
from tests.support.shared_out import SharedOut
from tests.wire.blessing import blessed, pytest_addoption, pytest_configure  # noqa: F401 — hooks and a fixture

NEEDED: Final = {
    "browser": ("chromium",),
    "codex": ("node", "npm:@openai/codex"),
    "opencode": ("npm:opencode-ai",),
    "redis": ("redis-server",),
}
"""The programs that a test needs because it has this fixture."""

# a busy machine is no fault of the code, and a check that passed passes again; `deep` is for looking further
settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("deep", deadline=None, max_examples=3000)
settings.load_profile("quick")

_configuration = tempfile.TemporaryDirectory()
os.environ["XDG_CONFIG_HOME"] = _configuration.name  # a developer's own is not for the tests

_new_context = ssl.create_default_context
_trusting = cache(lambda cafile: _new_context(cafile=cafile))


def _context(*args: Any, **settings: Any) -> ssl.SSLContext:
    """A context of TLS, made once for each file of authorities: tests open thousands of clients, each with its own."""
    return _new_context(*args, **settings) if args or set(settings) != {"cafile"} else _trusting(**settings)


ssl.create_default_context = _context


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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and kept to the end: the collector of garbage need not look at them ever again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(2_000, 10, 50)  # to look at all objects as often as usual takes a tenth of the time of a test


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedOut | None:
    """Where several workers run the tests, as pyproject.toml has it."""
    return SharedOut(config, log) if config.getvalue("dist") == "loadfile" else None


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
