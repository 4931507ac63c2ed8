"""One server with the embedded model for all acceptance tests of a worker."""

from collections.abc import Iterator

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.guarded_server import GUARDED
from tests.support.proxied_upstream import ProxiedUpstream, proxied_upstream
from tests.support.serving import serving

MODELS = {"demo": Model(upstream="demo"), "gpt-5": Model(upstream="demo")}


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    """The embedded model, also under a name that suites take for a reasoning model."""
    with serving(Settings(upstreams={"demo": Upstream(via="demo")}, models=MODELS)) as url:
        yield url


@pytest.fixture(scope="session", params=["litellm", "chat", "responses"])
def shared_proxied(request: pytest.FixtureRequest) -> Iterator[ProxiedUpstream]:
    """One per lane for all tests that go through it: each asks for models of names of its own."""
    with proxied_upstream(request.param) as proxied:
        yield proxied


@pytest.fixture
def proxied(shared_proxied: ProxiedUpstream) -> Iterator[ProxiedUpstream]:
    """The server and its upstream, which found no fault in any request."""
    yield shared_proxied
    assert shared_proxied.upstream.violations == []


@pytest.fixture(scope="session")
def guarded() -> Iterator[httpx.Client]:
    """A client of a server with keys and small limits."""
    with serving(GUARDED) as url, httpx.Client(base_url=url, timeout=10) as client:
        yield client
