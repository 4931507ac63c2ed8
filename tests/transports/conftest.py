"""A server for the tests of its websocket."""

from collections.abc import Iterator

import pytest

from tests.support.serving import serving
from tests.support.websocket_server import WebsocketServer, settings_of
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream


@pytest.fixture(scope="module")
def shared_server() -> Iterator[WebsocketServer]:
    with ChatUpstream() as upstream, serving(settings_of(upstream, keep_alive=0.2)) as url:
        yield WebsocketServer(url, upstream)


@pytest.fixture
def websocket_server(shared_server: WebsocketServer) -> WebsocketServer:
    """The upstream answers one, two, three, unless a test changes it."""
    shared_server.set_scripts(text_turn("one"), text_turn("two"), text_turn("three"))
    return shared_server
