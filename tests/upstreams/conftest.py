import inspect
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from app.upstreams import litellm_chat


@pytest_asyncio.fixture(loop_scope="session", scope="module", autouse=True)
async def _connections_are_closed() -> AsyncIterator[None]:
    """litellm keeps a client per address here, and forgets those above two hundred without closing them."""
    yield
    await litellm_chat.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what imports litellm on one worker, and on one event loop: litellm keeps a pool of connections per loop."""
    for item in items:
        if not (item.path.name.startswith("test_litellm") and item.path.parent.name == "upstreams"):
            continue
        item.add_marker(pytest.mark.xdist_group("litellm"))
        # the server itself ignores this warning too, but pytest undoes that for every test
        item.add_marker(pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning"))
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"))
