"""The Codex CLI over a websocket (`supports_websockets = true`): each step sends only what is new."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import call_turn, opens, says, text_turn, thinks, turn
from tests.support.servers import ChatUpstream, Cut, Script
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("node")

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


def turns(caplog: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    """How each turn came in, whether it was only to be remembered, and how it ended."""
    lines = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    return [(line.get("websocket", False), line.get("generate", True), line["finish"]) for line in lines]


WARMED = (True, False, "completed")
ANSWERED = (True, True, "completed")
POSTED = (False, True, "completed")


def run_codex(codex: Codex, url: str) -> tuple[int, list[str], list[str]]:
    codex.set_up(url, "coder", provider="supports_websockets = true")
    ran = codex.run("Do it")
    return ran.code, ran.said, ran.errors


def test_a_whole_tool_loop(codex: Codex, caplog: pytest.LogCaptureFixture) -> None:
    """The model's server sees the whole conversation each time, though Codex sent it once."""
    with (
        caplog.at_level("INFO", "am_proxy.turn"),
        behind(
            turn(thinks("hm"), *call_turn("exec_command", COMMAND, id="call_a"), reason="tool_calls"),
            call_turn("exec_command", COMMAND, id="call_b"),
            text_turn(DONE),
        ) as (url, upstream),
    ):
        assert run_codex(codex, url) == (0, [DONE], [])
    assert turns(caplog) == [WARMED, ANSWERED, ANSWERED, ANSWERED]
    first, *_, last = [ask.body["messages"] for ask in upstream.asks]
    assert last[: len(first)] == first
    calls, outputs = last[len(first) :: 2], last[len(first) + 1 :: 2]
    assert [call["tool_calls"][0]["id"] for call in calls] == ["call_a", "call_b"]
    assert [output["tool_call_id"] for output in outputs] == ["call_a", "call_b"]
    assert all("one\n" in output["content"] for output in outputs)


def test_an_upstream_that_breaks_off_is_asked_again(codex: Codex) -> None:
    broken: Script = [opens(), says("Half a"), Cut()]
    with behind(call_turn("exec_command", COMMAND), broken, text_turn(DONE)) as (url, upstream):
        code, content, _ = run_codex(codex, url)
    assert (code, content[-1:]) == (0, [DONE])
    _, broken_off, again = [ask.body["messages"] for ask in upstream.asks]
    assert again == [*broken_off, {"role": "assistant", "content": "Half a"}]


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


def test_without_a_websocket_it_posts(codex: Codex, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level("INFO", "am_proxy.turn"),
        behind(call_turn("exec_command", COMMAND), text_turn(DONE), websocket=False) as (url, _),
    ):
        assert run_codex(codex, url) == (0, [DONE], [])
    assert turns(caplog)[-2:] == [POSTED, POSTED]
