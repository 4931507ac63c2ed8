"""One server with all lanes for the tests of this folder in a worker."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.providers.lanes import LANES, Wired, wired


@pytest.fixture(scope="session")
def everything() -> Iterator[Wired]:
    """Every lane, and what is behind it."""
    with wired(LANES) as everything:
        yield everything


@pytest.fixture
def client(everything: Wired) -> Iterator[OpenAI]:
    """The openai package, before that server."""
    with OpenAI(base_url=f"{everything.url}/v1", api_key="any", max_retries=0) as client:
        yield client
