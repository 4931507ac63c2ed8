"""The limits of one worker."""

from hashlib import sha256

import pytest

from app.settings import Key, Server, Settings
from app.workers.divided_limits import _DIVIDED, divided, multiplied


def test_each_worker_has_its_part_rounded_up() -> None:
    settings = Settings(server=Server(max_turns=10, max_websockets=1, watch=5, max_connections=0, keep_alive=9))
    server = divided(settings, 3).server
    assert (server.max_turns, server.max_websockets, server.watch, server.max_connections) == (4, 1, 2, 0)
    assert server.keep_alive == 9
    assert divided(Settings(), 2).server.watch is None
    assert divided(settings, 1) == settings


def test_nothing_else_is_changed() -> None:
    before, after = Server(), divided(Settings(), 2).server
    assert {name for name in Server.model_fields if getattr(before, name) != getattr(after, name)} <= set(_DIVIDED)


KEY = Key(name="a", digest=sha256(b"a").digest(), requests_per_minute=3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(), []),
        (Settings(server=Server(max_turns=1)), ["server.max_turns"]),
        (Settings(server=Server(body_total_bytes=1024)), ["server.body_total_bytes"]),
        (Settings(server=Server(record="x")), ["server.record_bytes"]),
        (Settings(keys=(KEY,)), []),
    ],
)
def test_what_is_multiplied_is_said(settings: Settings, words: list[str]) -> None:
    remarks = multiplied(settings, 2)
    assert [word in remark for word, remark in zip(words, remarks, strict=True)] == [True] * len(words)
    assert all(remark.startswith("2 workers: ") for remark in remarks)
