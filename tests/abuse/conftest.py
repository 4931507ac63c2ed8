"""One server for all abuse of a worker."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.support.attacked_server import BOBS_KEY, CONFIG, KEY, UPSTREAMS_KEY, AttackedServer, assert_discreet
from tests.support.hostile_answers import hostile_answer
from tests.support.running import running
from tests.support.servers import Ask, ChatUpstream


class Anything(ChatUpstream):
    """Takes every format and path, and keeps what it was asked."""

    base_path = "/v1"

    def faults(self, ask: Ask) -> list[str]:
        """Nothing is wrong with anything, except for a chat server."""
        return super().faults(ask) if ask.path == "/v1/chat/completions" else []


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedServer]:
    """It stands to the end, and its log has nothing in it that must not be there."""
    folder = tmp_path_factory.mktemp("attacked")
    log = folder / "log"
    with ExitStack() as stack:
        upstream = stack.enter_context(Anything(hostile_answer))
        canary = stack.enter_context(Anything(hostile_answer))
        config = CONFIG.format(key=KEY, bobs_key=BOBS_KEY, url=upstream.url, upstreams_key=UPSTREAMS_KEY)
        (folder / "config.toml").write_text(config)
        (folder / "canary").write_text(canary.url)
        errors = stack.enter_context(log.open("w"))
        server = stack.enter_context(running(folder=folder, log=errors))
        client = stack.enter_context(httpx.Client(base_url=server.url.removesuffix("/v1"), timeout=20))
        yield AttackedServer(server, upstream, canary, log, client)
        assert server.stop() == 0
        assert_discreet(log.read_text())
