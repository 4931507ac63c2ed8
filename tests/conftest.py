"""What every test shares: how hard properties are tried, and the flag that rewrites golden files."""

import gc
import logging
import os
import shutil
import ssl
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from app.settings.files import usual_files
from tests.support.codex import Codex, modules_with
from tests.support.run_again import pytest_sessionfinish, pytest_sessionstart  # noqa: F401 — hooks
from tests.support.shared_out import SharedOut

# a busy machine is no fault of the code, and a check that passed passes again; `deep` is for looking further
settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("deep", deadline=None, max_examples=3000)
settings.load_profile("quick")

if any(usual.path.is_file() for usual in usual_files(Path("/"), os.environ)):
    os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()  # a developer's own configuration is not for the tests

_new_context = ssl.create_default_context
_trusting = cache(lambda cafile: _new_context(cafile=cafile))


def _context(*args: Any, **settings: Any) -> ssl.SSLContext:
    """A context of TLS, made once for each file of authorities: tests open thousands of clients, each with its own."""
    return _new_context(*args, **settings) if args or set(settings) != {"cafile"} else _trusting(**settings)


ssl.create_default_context = _context


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --bless` rewrites golden transcripts; the diff is then the review."""
    parser.addoption("--bless", action="store_true", help="rewrite golden transcripts instead of comparing them")
    parser.addoption("--recordings", action="store_true", help="play all recordings of other projects: half a minute")
    parser.addoption("--from-registry", action="store_true", help="install the package as people do, with downloads")


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
    modules = modules_with("@openai/codex")
    if modules is None or shutil.which("node") is None:
        pytest.skip("the Codex CLI was NOT tried: npm install --prefix .cache/npm @openai/codex")
    return Codex(modules, tmp_path)
