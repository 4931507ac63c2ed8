"""A server without a configuration, whose model is `demo`."""

from collections.abc import Iterator

import pytest

from tests.wire.program import serving


@pytest.fixture
def demo() -> Iterator[str]:
    with serving() as url:
        yield url
