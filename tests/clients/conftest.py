"""One server with the embedded model for all acceptance tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.clients.proxied_upstream import LANES, ProxiedUpstream, proxied_upstream
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


@pytest.fixture(scope="session", params=LANES)
def shared_proxied(request: pytest.FixtureRequest) -> Iterator[ProxiedUpstream]:
    """One per lane for all tests that go through it: each asks for models of names of its own."""
    with proxied_upstream(request.param) as proxied:
        yield proxied


@pytest.fixture
def proxied(shared_proxied: ProxiedUpstream) -> Iterator[ProxiedUpstream]:
    """The server and its upstream, which found no fault in any request."""
    yield shared_proxied
    assert shared_proxied.upstream.violations == []
