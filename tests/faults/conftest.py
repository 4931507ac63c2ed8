"""One server for all abuse of a worker."""

from collections.abc import Iterator

import httpx
import pytest

from tests.faults.attacked_server import AttackedServer, assert_discreet, configuration
from tests.faults.hostile_answers import hostile_answer
from tests.wire.program import Program
from tests.wire.servers import Ask, ChatUpstream


class Anything(ChatUpstream):
    """Takes every format and path, and keeps what it was asked."""

    base_path = "/v1"

    def faults(self, ask: Ask) -> list[str]:
        """Nothing is wrong with anything, except for a chat server."""
        return super().faults(ask) if ask.path == "/v1/chat/completions" else []


@pytest.fixture(scope="session")
def attacked() -> Iterator[AttackedServer]:
    """It stands to the end, and its log has nothing in it that must not be there."""
    with Anything(hostile_answer) as upstream, Anything(hostile_answer) as canary:
        program = Program(configuration(upstream.url))
        try:
            with httpx.Client(base_url=program.url, timeout=50) as client:
                yield AttackedServer(program, upstream, canary, client)
            assert program.stop() == 0
            assert_discreet(program.log)
        finally:
            program.kill()
