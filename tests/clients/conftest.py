"""One server with the embedded model for all acceptance tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import Program, own_program

MODELS = {"demo": Model(upstream="demo"), "gpt-5": Model(upstream="demo")}


@pytest.fixture(scope="session")
def demo() -> Iterator[Program]:
    """The embedded model, also under a name that suites take for a reasoning model."""
    with own_program(Settings(upstreams={"demo": Upstream(via="demo")}, models=MODELS)) as program:
        yield program


@pytest.fixture(scope="session")
def demo_url(demo: Program) -> str:
    """Its address."""
    return demo.url
