"""The stage of the websocket's tests."""

from collections.abc import Iterator

import pytest

from tests.support.script import talk
from tests.support.servers import ChatUpstream
from tests.support.serving import serving
from tests.support.websocket_server import WebsocketServer, behind


@pytest.fixture(scope="module")
def whole_stage() -> Iterator[WebsocketServer]:
    with ChatUpstream() as upstream, serving(behind(upstream, keep_alive=0.2)) as url:
        yield WebsocketServer(url, upstream)


@pytest.fixture
def stage(whole_stage: WebsocketServer) -> WebsocketServer:
    """It says one, two, three, unless a test changes it."""
    whole_stage.say(talk("one"), talk("two"), talk("three"))
    return whole_stage
