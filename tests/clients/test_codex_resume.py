"""The Codex CLI goes on with a session in another process: it sends the whole history again."""

import json

import pytest

from tests.support.codex import Codex
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import call_turn, text_turn, thinks, turn
from tests.wire.servers import ChatUpstream

COMMAND = json.dumps({"cmd": "echo one"})


@pytest.mark.parametrize("provider", ["", "supports_websockets = true"], ids=["HTTP", "websocket"])
def test_a_session_is_resumed(codex: Codex, provider: str) -> None:
    """What was asked before begins the new ask, byte for byte, so that the prompt cache hits."""
    first = turn(thinks("hm"), *call_turn("exec_command", COMMAND, id="call_a"), reason="tool_calls")
    with ChatUpstream(first, text_turn("One."), text_turn("Two.")) as upstream:
        settings = Settings(
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
            models={"coder": Model(upstream="u", context_window=64_000)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder", provider=provider)
            begun = codex.run("Do it")
            resumed = codex.run("And again?", "resume", "--last")
    assert (begun.code, begun.said, begun.errors) == (0, ["One."], [])
    assert (resumed.code, resumed.said, resumed.errors) == (0, ["Two."], [])
    _, before, after = [ask.body["messages"] for ask in upstream.asks]
    assert after[: len(before)] == before
    assert (after[len(before)]["content"], after[-1]["content"]) == ("One.", "And again?")
