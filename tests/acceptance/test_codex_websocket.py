"""The Codex CLI over a websocket (`supports_websockets = true`): each step sends only what is new."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream, Script

DONE = "Done: naïve 😀."
COMMAND = json.dumps({"cmd": "echo one"})


@contextmanager
def behind(*scripts: Script, **server: Any) -> Iterator[tuple[str, ChatUpstream]]:
    """A server with one model, which says what the scripts say."""
    with ChatUpstream(*scripts) as upstream:
        settings = Settings(
            server=Server(**server),
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url)},
            models={"coder": Model(upstream="scripted", context_window=64_000)},
        )
        with serving(settings) as url:
            yield url, upstream


def run_codex(codex: Codex, url: str) -> tuple[int, list[str], list[str]]:
    codex.set_up(url, "coder", provider="supports_websockets = true")
    ran = codex.run("Do it")
    return ran.code, ran.said, ran.errors


@pytest.mark.parametrize(
    "server",
    [{"websocket_memory_bytes": 0}, {"websocket_lifetime": 0.001}, {"websocket_idle": 0.001}],
    ids=["a conversation that is not remembered", "a connection that is too old", "a connection that was quiet"],
)
def test_what_a_connection_forgets_is_sent_again(codex: Codex, server: dict[str, Any]) -> None:
    with behind(call_turn("exec_command", COMMAND), text_turn(DONE), **server) as (url, upstream):
        code, content, _ = run_codex(codex, url)
    assert (code, content) == (0, [DONE])
    assert len(upstream.asks) == 2
