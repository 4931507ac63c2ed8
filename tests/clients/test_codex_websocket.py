"""The Codex CLI over a websocket (`supports_websockets = true`): each step sends only what is new."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.clients.tapped import tapped
from tests.support.codex import Codex
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import call_turn, opens, says, text_turn, thinks, turn
from tests.wire.servers import ChatUpstream, Cut, Script

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


def test_a_whole_tool_loop(codex: Codex) -> None:
    """The model's server sees the whole conversation each time, though Codex sent it once."""
    with (
        behind(
            turn(thinks("hm"), *call_turn("exec_command", COMMAND, id="call_a"), reason="tool_calls"),
            call_turn("exec_command", COMMAND, id="call_b"),
            text_turn(DONE),
        ) as (url, upstream),
        tapped(url) as tap,
    ):
        assert run_codex(codex, tap.url) == (0, [DONE], [])
    assert (tap.websockets, tap.posted) == (1, [])
    first, _, last = [ask.body["messages"] for ask in upstream.asks]
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


def test_without_a_websocket_it_posts(codex: Codex) -> None:
    with behind(call_turn("exec_command", COMMAND), text_turn(DONE), websocket=False) as (url, _), tapped(url) as tap:
        assert run_codex(codex, tap.url) == (0, [DONE], [])
    assert len(tap.posted) == 2
