"""A large request is written to its upstream in pieces, whole, and without a warning, on every lane.

Warnings are errors in these tests: one of aiohttp's would end the ask.
"""

from typing import Any

import pytest

from app.upstreams.connections import in_pieces
from tests.upstreams.lane import answers
from tests.upstreams.test_litellm_connections import LANES, client, greeting, server

LARGE = "large " * 250_000


@pytest.mark.parametrize("lane", LANES)
async def test_a_large_body_arrives_whole_and_with_its_length(lane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    def noted(body: bytes) -> Any:
        given.append(len(body))
        return in_pieces(body)

    monkeypatch.setattr("app.upstreams.connections.in_pieces", noted)
    monkeypatch.setattr("app.upstreams.http_server.in_pieces", noted)
    with server(lane, greeting(lane)) as upstream:
        async with client(lane, upstream.url) as (chat, ask):
            key = "input" if "input" in ask else "messages"
            said: Any = LARGE if key == "input" else [{"role": "user", "content": LARGE}]
            _, problem = await answers(chat, {**ask, key: said})
    assert problem is None
    [asked] = upstream.asks
    assert asked.body[key] == said
    assert asked.headers["content-length"] == str(len(asked.raw))
    assert "transfer-encoding" not in asked.headers
    assert given == [len(asked.raw)]
