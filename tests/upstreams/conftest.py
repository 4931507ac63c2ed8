from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.upstreams import litellm_chat


@pytest_asyncio.fixture(autouse=True)
async def _connections_are_closed() -> AsyncIterator[None]:
    """Here every test has an event loop of its own, and litellm keeps connections for each."""
    yield
    await litellm_chat.close_connections()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Litellm warns of its own types."""
    for item in items:
        if item.path.name.startswith("test_litellm") and item.path.parent.name == "upstreams":
            # the server itself ignores this warning too, but pytest undoes that for every test
            item.add_marker(pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"))
